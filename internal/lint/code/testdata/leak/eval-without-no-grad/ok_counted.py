# near miss: a run whose result nobody takes, to count its operations
from torch.utils.flop_counter import FlopCounterMode


def count(model, example):
    counter = FlopCounterMode()
    with counter:
        model(example)
    return sum(counter.get_flop_counts()["Global"].values())


def table(models, example):
    rows = []
    for model in models:
        model.eval()
        rows.append(count(model, example))
    return rows
