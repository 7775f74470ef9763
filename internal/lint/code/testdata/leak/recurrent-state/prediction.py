# The state is right to be carried on, but nothing needs its graph.
import torch
from torch import nn

rnn = nn.GRU(8, 16).cuda()
rnn.load_state_dict(torch.load("rnn.pth"))
rnn.eval()
h = None
for x in loader:
    out, h = rnn(x, h)  # want: leak/recurrent-state leak/eval-without-no-grad
    print(out.mean().item())
