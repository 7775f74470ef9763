# after: LLaVA-VL/LLaVA-NeXT#247
import torch
from transformers import Trainer, TrainerCallback


class CacheClearing(TrainerCallback):
    def on_step_end(self, args, state, control, **kwargs):
        if state.is_world_process_zero:
            torch.cuda.empty_cache()  # want: frag/empty-cache-loop
            print("cache cleared")


def run(model, args, data):
    Trainer(model=model, args=args, train_dataset=data, callbacks=[CacheClearing()]).train()
