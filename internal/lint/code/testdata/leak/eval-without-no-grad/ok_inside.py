import torch


def evaluate(model, loader):
    model.eval()
    total = 0
    for x, y in loader:
        x = x.cuda()
        with torch.no_grad(), torch.autocast("cuda"):
            out = model(x)
        total += (out.argmax(1).cpu() == y).sum().item()
    model.train()
    return total


def phases(model, loaders, opt, loss_fn):
    for phase in ("train", "val"):
        if phase == "train":
            model.train()
        else:
            model.eval()
        for x, y in loaders[phase]:
            opt.zero_grad()
            with torch.set_grad_enabled(phase == "train"):
                loss = loss_fn(model(x.cuda()), y.cuda())
                if phase == "train":
                    loss.backward()
                    opt.step()
