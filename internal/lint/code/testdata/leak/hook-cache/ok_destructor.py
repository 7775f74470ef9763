# after: bdpy#91
import torch


class FeatureExtractor:
    def __init__(self, encoder, layers):
        self.features = []
        self.handles = []
        for name, module in encoder.named_modules():
            if name in layers:
                self.handles.append(module.register_forward_hook(self.keep))

    def keep(self, module, inputs, output):
        self.features.append(output)

    def __del__(self):
        for handle in self.handles:
            handle.remove()
