import torch


def main(model, x):
    model.to("cuda")
    torch.cuda.memory._record_memory_history(max_entries=100_000)  # want (all): rec/late-start
    with torch.no_grad():
        model(x.to("cuda"))
    torch.cuda.memory._dump_snapshot("forward.pickle")
