import torch


class Decoder:
    def __init__(self, model):
        self.model = model
        self.graphs = {}

    def capture(self, batch_size, static):
        g = torch.cuda.CUDAGraph()
        with torch.cuda.graph(g):  # want: frag/graph-pools
            out = self.model(static[:batch_size])
        self.graphs[batch_size] = g
        return out
