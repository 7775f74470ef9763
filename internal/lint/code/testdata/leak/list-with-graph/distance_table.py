# after: transformers#2595
import torch
from net import Encoder

model = Encoder().cuda()
model.load_state_dict(torch.load("encoder.pt"))
table = torch.zeros(4, 500, 500).cuda()
for m in range(4):
    for j in range(500):
        for row in range(500):
            table[m, j, row] = model(pair(m, j, row)).norm()  # want: leak/list-with-graph
