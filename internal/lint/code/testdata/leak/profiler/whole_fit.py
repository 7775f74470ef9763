import torch
from torch.profiler import profile


def main(trainer, model, data):
    with profile(with_stack=True) as prof:  # want: leak/profiler
        trainer.fit(model, data)
    prof.export_chrome_trace("fit.json")
