import numpy as np
import torch
from torchvision.transforms.functional import resize

torch.backends.cudnn.benchmark = True  # want: peak/cudnn-benchmark
SIZES = [320, 352, 384, 416, 448, 480]


def batches(loader):
    for images in loader:
        side = int(np.random.choice(SIZES))
        yield resize(images, [side, side])  # want (all): frag/variable-shapes
