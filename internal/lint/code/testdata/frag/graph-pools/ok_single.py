# after: pytorch PR#121475
import torch


def capture(model, static):
    for _ in range(3):
        model(static)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = model(static)
    return graph, out
