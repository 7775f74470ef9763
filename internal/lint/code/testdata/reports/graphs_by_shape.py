# after: ELS-RD/kernl PR#268
import torch


class Graphed:
    def __init__(self, model):
        self.model = model
        self.graphs = {}

    def capture(self, inputs):
        static_inputs = [x.clone() for x in inputs]
        s = torch.cuda.Stream()
        s.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(s):
            for _ in range(3):
                self.model(*static_inputs)
        torch.cuda.current_stream().wait_stream(s)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=s):  # want: frag/graph-pools
            outputs = self.model(*static_inputs)
        return graph, static_inputs, outputs

    @torch.inference_mode()
    def __call__(self, *inputs):
        key = tuple(x.shape for x in inputs)
        if key not in self.graphs:
            self.graphs[key] = self.capture(inputs)
        graph, static_inputs, outputs = self.graphs[key]
        for static, x in zip(static_inputs, inputs):
            static.copy_(x)
        graph.replay()
        return outputs
