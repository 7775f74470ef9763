# after: kazuto1011/deeplab-pytorch#74
import random

import torch
import torch.nn.functional as F
from omegaconf import OmegaConf

from libs.models import DeepLabV2_ResNet101_MSC
from libs.datasets import get_dataset


def train(config):
    torch.backends.cudnn.benchmark = True  # want: peak/cudnn-benchmark
    device = torch.device("cuda")
    loader = torch.utils.data.DataLoader(get_dataset(config), batch_size=2, num_workers=4, shuffle=True)
    model = DeepLabV2_ResNet101_MSC(n_classes=21).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=2.5e-4)
    for images, labels in loader:
        scale = random.choice([0.5, 0.75, 1.0, 1.25, 1.5])
        images = F.interpolate(images.to(device), scale_factor=scale, mode="bilinear")
        optimizer.zero_grad()
        loss = 0
        for logits in model(images):
            target = F.interpolate(labels[:, None].float(), size=logits.shape[2:])[:, 0].long()
            loss = loss + F.cross_entropy(logits, target.to(device))
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    train(OmegaConf.load("configs/voc12.yaml"))
