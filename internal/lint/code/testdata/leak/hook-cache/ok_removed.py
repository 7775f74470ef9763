# after: zennit#13
import torch


def activations(model, layer, x):
    kept = []
    handle = layer.register_forward_hook(lambda m, i, o: kept.append(o.detach()))
    try:
        with torch.no_grad():
            model(x)
    finally:
        handle.remove()
    return torch.cat(kept)


def as_context(model, layer, x):
    kept = []
    with layer.register_forward_hook(lambda m, i, o: kept.append(o.detach())):
        model(x)
    return kept
