# after: Qwen-VL-Series-Finetune#136
import gc

import torch
from transformers import Trainer


class VisionTrainer(Trainer):
    def training_step(self, model, inputs, num_items=None):
        if torch.cuda.is_available():
            torch.cuda.empty_cache()  # want: frag/empty-cache-loop
        return super().training_step(model, inputs, num_items)
