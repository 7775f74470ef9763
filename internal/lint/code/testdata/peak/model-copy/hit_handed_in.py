# after: tutorials PR#188
import copy

import torch
from torchvision.models import resnet18

device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")


def train_model(model, loader, optimizer, criterion, evaluate, epochs=25):
    best, best_weights = 0.0, copy.deepcopy(model.state_dict())  # want: peak/model-copy
    for epoch in range(epochs):
        model.train()
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x.to(device)), y.to(device))
            loss.backward()
            optimizer.step()
        score = evaluate(model)
        if score > best:
            best, best_weights = score, copy.deepcopy(model.state_dict())  # want: peak/model-copy
    model.load_state_dict(best_weights)
    return model


def main(loader, criterion, evaluate):
    net = resnet18()
    net = net.to(device)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.001)
    return train_model(net, loader, optimizer, criterion, evaluate)
