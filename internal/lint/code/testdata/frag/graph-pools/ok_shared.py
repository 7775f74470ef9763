# after: pytorch#137844
import torch


@torch.inference_mode()
def capture(model, buffers, sizes):
    graphs = {}
    pool = None
    for size in sorted(sizes, reverse=True):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=pool):
            out = model(buffers[:size])
        pool = pool or graph.pool()
        graphs[size] = (graph, out)
    return graphs
