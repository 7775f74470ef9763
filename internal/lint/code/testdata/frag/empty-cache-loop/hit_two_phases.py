import torch
from transformers import Trainer


class PolicyTrainer(Trainer):
    def training_step(self, model, inputs, num_items=None):
        with torch.no_grad():
            sequences = model.generate(**inputs)
        torch.cuda.empty_cache()  # want (all): frag/empty-cache-loop
        return super().training_step(model, {"input_ids": sequences}, num_items)
