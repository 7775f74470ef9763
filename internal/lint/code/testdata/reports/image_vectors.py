# after: christiansafka/img2vec#33
import numpy as np
import torch
from torchvision import models, transforms


class Img2Vec:
    def __init__(self, cuda=False, name="resnet-18"):
        self.device = torch.device("cuda" if cuda else "cpu")
        self.model, self.layer = self._get_model(name)
        self.model = self.model.to(self.device)
        self.model.eval()
        self.to_tensor = transforms.ToTensor()

    def get_vec(self, images):
        batch = torch.stack([self.to_tensor(im) for im in images]).to(self.device)
        embedding = torch.zeros(len(images), 512, 1, 1)

        def copy(m, i, o):
            embedding.copy_(o.data)

        handle = self.layer.register_forward_hook(copy)
        self.model(batch)  # want: leak/eval-without-no-grad
        handle.remove()
        return embedding.numpy()[:, :, 0, 0]

    def _get_model(self, name):
        model = getattr(models, name.replace("-", ""))(weights="DEFAULT")
        return model, model._modules.get("avgpool")


def index(paths, load, chunk=64):
    encoder = Img2Vec(cuda=True)
    return np.concatenate([encoder.get_vec([load(p) for p in paths[i : i + chunk]]) for i in range(0, len(paths), chunk)])
