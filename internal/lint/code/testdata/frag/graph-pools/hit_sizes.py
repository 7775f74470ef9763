# after: tokenspeed PR#1065
import torch


@torch.inference_mode()
def capture(model, buffers, sizes):
    graphs = {}
    for size in sizes:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):  # want: frag/graph-pools
            out = model(buffers[:size])
        graphs[size] = (graph, out)
    return graphs
