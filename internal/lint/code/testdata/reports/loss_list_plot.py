# after: pytorch/tntorch#19
import matplotlib.pyplot as plt
import torch

model = torch.nn.Linear(100, 10).cuda()
optimizer = torch.optim.Adam(model.parameters())
criterion = torch.nn.MSELoss()
losses = []
for step in range(100_000):
    x = torch.rand(64, 100, device="cuda")
    y = torch.rand(64, 10, device="cuda")
    loss = criterion(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss)  # want: leak/list-with-graph
plt.plot(losses)
