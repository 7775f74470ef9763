# What the model is, and so how large its logits are, is not in this file.
from transformers import Trainer, TrainingArguments


def make(model, data, metrics):
    args = TrainingArguments(output_dir="out")
    return Trainer(model=model, args=args, eval_dataset=data, compute_metrics=metrics)  # want (all): leak/eval-gather
