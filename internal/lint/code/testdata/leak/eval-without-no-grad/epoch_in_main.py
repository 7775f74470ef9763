# after: pytorch#4932
import torch
from torch import nn
from torch.utils.data import DataLoader


def main(train_set, test_set):
    device = torch.device("cuda")
    model = nn.Sequential(nn.Flatten(), nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 10)).to(device)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    train_loader = DataLoader(train_set, batch_size=64, shuffle=True)
    test_loader = DataLoader(test_set, batch_size=512)
    for epoch in range(20):
        model.train()
        for x, y in train_loader:
            loss = nn.functional.cross_entropy(model(x.to(device)), y.to(device))
            opt.zero_grad()
            loss.backward()
            opt.step()
        model.eval()
        right = 0
        for x, y in test_loader:
            out = model(x.to(device))  # want: leak/eval-without-no-grad
            right += (out.argmax(1).cpu() == y).sum().item()
        print(epoch, right / len(test_set))


def with_scheduler(model, loader, loss_fn, scheduler):
    model.eval()
    losses = []
    for x, y in loader:
        out = model(x.cuda())  # want: leak/eval-without-no-grad
        losses.append(loss_fn(out, y.cuda()).item())
    scheduler.step(sum(losses))
