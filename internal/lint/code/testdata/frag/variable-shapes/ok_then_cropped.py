import random

from torchvision.transforms import functional as F


class RandomScale:
    def __init__(self, sizes, crop):
        self.sizes = sizes
        self.crop = crop

    def __call__(self, image):
        image = F.resize(image, random.choice(self.sizes))
        return F.center_crop(image, self.crop)
