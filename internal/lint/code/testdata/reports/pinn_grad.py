# after: pytorch#64586
import numpy as np
import torch
import torch.nn as nn
from torch.autograd import grad

device = torch.device("cuda")
net = nn.Sequential(nn.Linear(2, 50), nn.Tanh(), nn.Linear(50, 50), nn.Tanh(), nn.Linear(50, 1)).to(device)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
mse = nn.MSELoss()

x = torch.rand(20000, 1, device=device, requires_grad=True)
t = torch.rand(20000, 1, device=device, requires_grad=True)
x0 = torch.rand(2000, 1, device=device)
u0 = -torch.sin(np.pi * x0)


def residual(x, t):
    u = net(torch.cat([x, t], dim=1))
    u_t = grad(u, t, torch.ones_like(u), create_graph=True)[0]
    u_x = grad(u, x, torch.ones_like(u), create_graph=True)[0]
    u_xx = grad(u_x, x, torch.ones_like(u_x), create_graph=True)[0]
    return u_t + u * u_x - 0.01 / np.pi * u_xx


history = {"pde": [], "ic": []}
for epoch in range(20000):
    optimizer.zero_grad()
    pde = torch.mean(residual(x, t) ** 2)
    ic = mse(net(torch.cat([x0, torch.zeros_like(x0)], 1)), u0)
    (pde + ic).backward()
    optimizer.step()
    history["pde"].append(pde)  # want: leak/list-with-graph
    history["ic"] += [ic]  # want: leak/list-with-graph
np.save("pde.npy", [float(v) for v in history["pde"]])
