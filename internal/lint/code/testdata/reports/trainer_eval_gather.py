# after: huggingface/transformers#7232
from transformers import AutoModelForMaskedLM, Trainer, TrainingArguments

args = TrainingArguments("out", per_device_eval_batch_size=64, evaluation_strategy="steps", eval_steps=500)
trainer = Trainer(  # want (all): leak/eval-gather
    model=AutoModelForMaskedLM.from_pretrained("roberta-base"),
    args=args,
    train_dataset=train,
    eval_dataset=valid,
    compute_metrics=compute,
)
trainer.train()
