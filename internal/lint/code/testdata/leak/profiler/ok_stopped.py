import torch


def main(model, loader):
    prof = torch.profiler.profile(record_shapes=True)
    for i, batch in enumerate(loader):
        if i == 10:
            prof.start()
        model(batch)
        if i == 12:
            prof.stop()
