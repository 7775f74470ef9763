# after: pytorch#2517
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import models, transforms


class Slides(Dataset):
    def __init__(self, paths, device="cuda"):
        self.paths = paths
        self.device = torch.device(device)
        self.stain = models.segmentation.fcn_resnet50(weights="DEFAULT").to(self.device).eval()
        self.tensor = transforms.ToTensor()

    def __len__(self):
        return len(self.paths)

    def normalise(self, image):
        x = self.tensor(image).unsqueeze(0)
        with torch.no_grad():
            return self.stain(x.to(self.device))["out"].squeeze(0)  # want: dist/worker-context

    def __getitem__(self, index):
        image = Image.open(self.paths[index]).convert("RGB")
        return self.normalise(image)


train_loader = DataLoader(Slides(open("train.txt").read().split()), batch_size=8, num_workers=6, shuffle=True)
for step, batch in enumerate(train_loader):
    print(step, batch.shape)
