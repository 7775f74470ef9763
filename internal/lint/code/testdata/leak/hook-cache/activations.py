# after: bdpy#72
import torch
import torchvision


class FeatureExtractor:
    def __init__(self, encoder, layers):
        self.encoder = encoder
        self.features = {name: [] for name in layers}
        for name, module in encoder.named_modules():
            if name in layers:
                module.register_forward_hook(self._hook(name))

    def _hook(self, name):
        def hook(module, inputs, output):
            self.features[name].append(output)  # want: leak/hook-cache

        return hook

    def run(self, x):
        self.encoder(x)
        return self.features


extractor = FeatureExtractor(torchvision.models.alexnet().eval(), ["features.0"])
