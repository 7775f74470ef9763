# after: microsoft/Biodiversity#662
import timm
import torch
from torch.utils.data import DataLoader
from tqdm import tqdm

from .base import BaseClassifierInference
from .datasets import ImageFolderCrops


class TimmClassifier(BaseClassifierInference):
    def __init__(self, weights, device="cpu", backbone="vit_large_patch14_dinov2"):
        super().__init__()
        self.device = device
        state = torch.load(weights, map_location="cpu")
        self.predictor = timm.create_model(backbone, num_classes=state["classes"])
        self.predictor.load_state_dict(state["model"])
        self.predictor.to(device).eval()

    def batch_image_classification(self, data_path, batch_size=32):
        loader = DataLoader(ImageFolderCrops(data_path), batch_size=batch_size, num_workers=4)
        total_logits, total_paths = [], []
        for imgs, paths in tqdm(loader):
            imgs = imgs.to(self.device)
            total_logits.append(self.predictor(imgs))  # want: leak/list-with-graph
            total_paths += paths
        total_logits = torch.cat(total_logits, dim=0).cpu()
        return self.results_generation(total_logits, total_paths)
