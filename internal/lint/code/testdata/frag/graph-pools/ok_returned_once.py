import torch


class Runner:
    def __init__(self, model, example):
        self.graph = None
        self.model = model
        self.static = example.clone()

    def capture(self):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.out = self.model(self.static)
        return graph

    def __call__(self, x):
        if self.graph is None:
            self.graph = self.capture()
        self.static.copy_(x)
        self.graph.replay()
        return self.out
