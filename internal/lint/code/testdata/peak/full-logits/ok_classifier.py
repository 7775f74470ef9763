# after: modalities PR#464
import torch.nn.functional as F


def loss(model, images, labels):
    logits = model(images)
    return F.cross_entropy(logits.float(), labels)
