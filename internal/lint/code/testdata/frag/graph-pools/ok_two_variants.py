import torch


def compare(first, second, x, reps):
    variants = {"first": first, "second": second}
    graphs = {}
    with torch.no_grad():
        for name, run in variants.items():
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                run(x)
            graphs[name] = graph
    for graph in graphs.values():
        graph.replay()
