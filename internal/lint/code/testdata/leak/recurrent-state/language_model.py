# after: pytorch#2198
import torch
from torch import nn
from model import RNNModel

model = RNNModel().cuda()
criterion = nn.CrossEntropyLoss()
opt = torch.optim.SGD(model.parameters(), lr=20)
hidden = model.init_hidden(20)
for data, targets in batches(train_data):
    opt.zero_grad()
    output, hidden = model(data, hidden)  # want: leak/recurrent-state
    loss = criterion(output.view(-1, 1000), targets)
    loss.backward(retain_graph=True)  # want: leak/retain-graph
    opt.step()
