# after: f-dangel/backpack#238
import torch
from backpack import backpack, extend
from backpack.extensions import BatchL2Grad

from esgd import ESGD


def train(model, loader, epochs):
    model = extend(model.cuda())
    criterion = extend(torch.nn.CrossEntropyLoss())
    opt = ESGD(model.parameters())
    for _ in range(epochs):
        for x, y in loader:
            opt.zero_grad()
            loss = criterion(model(x.cuda()), y.cuda())
            with backpack(BatchL2Grad()):
                loss.backward(create_graph=True)  # want (all): leak/create-graph
            opt.step()
