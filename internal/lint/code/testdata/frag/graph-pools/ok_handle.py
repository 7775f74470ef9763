import torch


class Decoder:
    def __init__(self, model):
        self.model = model
        self.pool = torch.cuda.graph_pool_handle()
        self.graphs = {}

    def capture_all(self, static, sizes):
        for n in sizes:
            g = torch.cuda.CUDAGraph()
            with torch.cuda.graph(g, self.pool):
                self.model(static[:n])
            self.graphs[n] = g
