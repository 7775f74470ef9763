# after: pyannote/pyannote-audio#444
import numpy as np
import torch

from pyannote.audio.features.base import FeatureExtraction
from pyannote.audio.train.task import load_model


class Pretrained(FeatureExtraction):
    def __init__(self, validate_dir, batch_size=32, device=None):
        super().__init__()
        self.device = torch.device(device or "cuda")
        self.batch_size = batch_size
        model = load_model(validate_dir)
        self.model_ = model.eval().to(self.device)

    def apply(self, waveform, windows):
        chunks = [waveform[i:j] for i, j in windows]
        results = []
        for k in range(0, len(chunks), self.batch_size):
            batch = torch.tensor(np.stack(chunks[k : k + self.batch_size])).to(self.device)
            fX = self.model_(batch)  # want: leak/eval-without-no-grad
            results.append(fX.detach().cpu().numpy())
        return np.vstack(results)
