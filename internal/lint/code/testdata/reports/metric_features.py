# after: photosynthesis-team/piq#175
from typing import Optional

import torch
from torch import nn

from piq.feature_extractors import InceptionV3


class BaseFeatureMetric(nn.Module):
    """Distances between the features of two sets of images."""

    def __init__(self):
        super().__init__()

    def compute_metric(self, x, y):
        raise NotImplementedError

    def compute_feats(self, loader, feature_extractor: Optional[nn.Module] = None, device="cuda"):
        if feature_extractor is None:
            feature_extractor = InceptionV3()
        feature_extractor.to(device)
        feature_extractor.eval()
        total_feats = []
        for batch in loader:
            images = batch["images"].float().to(device)
            feats = feature_extractor(images)
            feats = feats[0].mean(dim=(2, 3))
            total_feats.append(feats)  # want: leak/list-with-graph
        return torch.cat(total_feats, dim=0)
