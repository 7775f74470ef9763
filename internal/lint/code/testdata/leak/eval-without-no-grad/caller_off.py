# near misses: the callers have autograd off, or train what the method runs
import torch


class Embedder:
    def __init__(self, encoder):
        self.encoder = encoder
        self.encoder.eval()

    def vectors(self, images):
        return self.encoder(images)


def index(embedder: Embedder, loader):
    with torch.no_grad():
        return torch.cat([embedder.vectors(images).cpu() for images in loader])
