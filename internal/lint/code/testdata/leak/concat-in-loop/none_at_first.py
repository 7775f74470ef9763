# after: pytorch#13613
import torch
from net import Encoder


def encode(model, loader):
    features = None
    for x, _ in loader:
        f = model(x.cuda())
        if features is None:
            features = f
        else:
            features = torch.cat((features, f), dim=0)  # want: leak/concat-in-loop
    return features


encode(Encoder().cuda(), torch.utils.data.DataLoader(torch.load("x.pt")))
