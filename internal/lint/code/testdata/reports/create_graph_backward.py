# after: pytorch#7343
import torch

x = torch.randn(1024, device="cuda", requires_grad=True)
for _ in range(1000):
    y = x.tanh().sum()
    y.backward(create_graph=True)  # want: leak/create-graph
    penalty = x.grad.norm()
