# after: pytorch#15872
import torch
from torchvision import transforms

torch.backends.cudnn.benchmark = True

train_tf = transforms.Compose([
    transforms.RandomResizedCrop(224),
    transforms.RandomHorizontalFlip(),
    transforms.ToTensor(),
])
