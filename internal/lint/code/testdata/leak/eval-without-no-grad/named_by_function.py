# The caller switches the model over; the name of the function says what it is for.
import torch


def test_epoch(model, loader, loss_fn, device):
    total = 0.0
    for batch in loader:
        out = model(batch["x"].to(device))  # want: leak/eval-without-no-grad
        total += loss_fn(out, batch["y"].to(device)).item()
    return total / len(loader)


def main(model, train_loader, test_loader, loss_fn, opt, device):
    for _ in range(10):
        model.train()
        for batch in train_loader:
            opt.zero_grad()
            loss_fn(model(batch["x"].to(device)), batch["y"].to(device)).backward()
            opt.step()
        model.eval()
        print(test_epoch(model, test_loader, loss_fn, device))
