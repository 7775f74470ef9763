# after: pytorch#18853
import torch


def train_step(model, opt, batch):
    opt.zero_grad()
    loss = model(batch).mean()
    loss.backward()
    opt.step()


def run(model, opt, loader):
    for batch in loader:
        try:
            train_step(model, opt, batch)
        except RuntimeError as e:
            if "out of memory" not in str(e):
                raise
            torch.cuda.empty_cache()
            for half in batch.chunk(2):
                train_step(model, opt, half)  # want: leak/exception-frame
