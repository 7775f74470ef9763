# after: itwinai#336
import torch


def run(trainer, dataloader):
    with torch.autograd.profiler.profile(use_cuda=True, with_stack=True) as prof:  # want: leak/profiler
        for batch in dataloader:
            trainer.step(batch)
    prof.export_chrome_trace("trace.json")
