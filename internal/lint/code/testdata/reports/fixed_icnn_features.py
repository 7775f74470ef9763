# after: KamitaniLab/bdpy#72
import torch
from torch import nn, optim


class FeatureExtractor:
    def __init__(self, encoder, layers, detach=True):
        self._encoder = encoder
        self._detach = detach
        self._outputs = {}
        self._handles = [encoder.get_submodule(n).register_forward_hook(self._hook(n)) for n in layers]

    def close(self):
        for handle in self._handles:
            handle.remove()

    def _hook(self, name):
        def fn(module, args, output):
            self._outputs[name] = output.detach() if self._detach else output

        return fn

    def run(self, x):
        self._encoder(x)
        return dict(self._outputs)


def reconstruct(encoder, generator, target, layers, n_iter=200):
    extractor = FeatureExtractor(encoder, layers, detach=False)
    latent = torch.zeros(1, 4096, requires_grad=True, device="cuda")
    optimizer = optim.SGD([latent], lr=0.1)
    for _ in range(n_iter):
        optimizer.zero_grad()
        features = extractor.run(generator(latent))
        loss = sum(nn.functional.mse_loss(features[k], target[k]) for k in layers)
        loss.backward()
        optimizer.step()
    extractor.close()
    return generator(latent).detach()


def reconstruct_all(encoder, generator, dataset, layers):
    return {key: reconstruct(encoder, generator, target, layers).cpu() for key, target in dataset.items()}
