# after: Writing-editing-Network#3
import torch


def train(model, opt, loader, criterion):
    for src, tgt in loader:
        opt.zero_grad()
        out = model(src.cuda(), tgt.cuda())
        loss = criterion(out.flatten(0, 1), tgt.cuda().flatten())
        loss.backward(retain_graph=True)  # want: leak/retain-graph
        torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        opt.step()
