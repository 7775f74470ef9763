# after: Megatron-Bridge PR#3487
import torch


def main(model, loader, optimizer):
    for step, batch in enumerate(loader):
        optimizer.zero_grad()
        loss = model(batch)
        loss.backward()
        optimizer.step()
        if step == 10:
            torch.cuda.memory._dump_snapshot("step10.pickle")  # want: rec/no-history


if __name__ == "__main__":
    main(None, [], None)
