# after: pytorch#4661
import torch

captured = []


def saliency_penalty(model, tokens, labels, loss_fn):
    handle = model.embedding.register_full_backward_hook(lambda m, gi, go: captured.append(go[0]))
    loss = loss_fn(model(tokens), labels)
    loss.backward(create_graph=True)  # want: leak/create-graph
    handle.remove()
    penalty = captured.pop().norm()
    return loss + penalty
