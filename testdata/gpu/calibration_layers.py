"""The convolutions that `ullage fit --calibrate` measures, most used first: internal/fit/calibration_layers.txt.

usage: calibration_layers.py > internal/fit/calibration_layers.txt

Needs torch and torchvision, and no GPU. A layer counts once for each model of model_layers.jsonl.xz and conv_workspace.VISION that
has it in images of 224 by 224; those of one model alone are left out. Added are the layers of the U-Nets of diffusion and of
segmentation, by hand. A line is [channels innermost] C H W K R S stride padding dilation groups, and the number of models.
"""
from __future__ import annotations

import collections
import json
import lzma
import os

import conv_workspace

LEAST_MODELS = 2
UNET_MODELS = 12  # as many models as such a layer counts for: there are more U-Nets about than this list has


def unets():
    """Layers of a latent diffusion U-Net at 64 by 64, of its decoder, and of a U-Net for segmentation at 256 by 256."""
    for size, channels in ((64, 320), (32, 640), (16, 1280), (8, 1280)):
        yield (0, channels, size, size, channels, 3, 3, 1, 1, 1, 1)
        yield (0, 2 * channels, size, size, channels, 3, 3, 1, 1, 1, 1)
        yield (0, channels, size, size, channels, 3, 3, 2, 1, 1, 1)
    for size, channels, out in ((64, 4, 320), (64, 320, 4), (64, 512, 512), (256, 256, 256)):
        yield (0, channels, size, size, out, 3, 3, 1, 1, 1, 1)
    for size, channels in ((256, 64), (128, 128), (64, 256), (32, 512)):
        yield (0, channels, size, size, channels, 3, 3, 1, 1, 1, 1)
        yield (0, channels // 2 if channels > 64 else 3, size, size, channels, 3, 3, 1, 1, 1, 1)
        yield (0, 2 * channels, size, size, channels, 3, 3, 1, 1, 1, 1)


def main():
    models = collections.Counter()
    named = set()
    with lzma.open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "model_layers.jsonl.xz"), "rt") as f:
        for line in f:
            name, image, found = json.loads(line)
            if image == 224:
                named.add(name)
                models.update({tuple(layer) for layer in found})
    for name in conv_workspace.VISION:
        if name not in named:
            models.update({(0, *layer) for layer in conv_workspace.layers(224, (name,))})
    for layer in unets():
        models[layer] += UNET_MODELS
    for layer, count in sorted(models.items(), key=lambda item: (-item[1], item[0])):
        if count >= LEAST_MODELS:
            print(*layer, count)


if __name__ == "__main__":
    main()
