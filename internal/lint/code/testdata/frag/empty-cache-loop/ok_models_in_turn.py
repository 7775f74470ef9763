import gc

import torch


def compare(names, load, evaluate):
    results = {}
    for name in names:
        model = load(name).cuda()
        results[name] = evaluate(model)
        del model
        gc.collect()
        torch.cuda.empty_cache()
    return results
