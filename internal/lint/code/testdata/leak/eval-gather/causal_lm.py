# after: transformers#8476
import numpy as np
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

model = AutoModelForCausalLM.from_pretrained("gpt2")
args = TrainingArguments(
    output_dir="out",
    per_device_eval_batch_size=16,
    eval_strategy="steps",
    eval_steps=25,
)


def metrics(p):
    return {"accuracy": float((np.argmax(p.predictions, -1) == p.label_ids).mean())}


def main(train, val):
    trainer = Trainer(model=model, args=args, train_dataset=train, eval_dataset=val, compute_metrics=metrics)  # want: leak/eval-gather
    trainer.train()
