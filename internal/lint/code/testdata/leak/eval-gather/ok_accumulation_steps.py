# after: transformers#18947
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

model = AutoModelForCausalLM.from_pretrained("gpt2")
args = TrainingArguments(output_dir="out", eval_accumulation_steps=8)


def main(val, metrics):
    return Trainer(model=model, args=args, eval_dataset=val, compute_metrics=metrics)
