# after: corr_based_prediction#1
import torch


def fit(net, loader, epochs, device):
    opt = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    for epoch in range(epochs):
        opt.zero_grad()
        for x, y in loader:
            loss = torch.nn.functional.cross_entropy(net(x.to(device)), y.to(device))
            loss.backward()
            opt.step()  # want: leak/no-zero-grad
