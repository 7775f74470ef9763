# after: huggingface/transformers#12878
import numpy as np
from datasets import load_dataset
from transformers import AutoModelForMaskedLM, AutoTokenizer, DataCollatorForLanguageModeling, Trainer, TrainingArguments


def compute_metrics(eval_pred):
    logits, labels = eval_pred
    mask = labels != -100
    return {"accuracy": (np.argmax(logits, axis=-1)[mask] == labels[mask]).mean()}


def main():
    tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
    model = AutoModelForMaskedLM.from_pretrained("bert-base-uncased")
    data = load_dataset("c4", "en").map(lambda e: tokenizer(e["text"], truncation=True), batched=True)
    training_args = TrainingArguments(output_dir="mlm", per_device_train_batch_size=32, evaluation_strategy="steps", eval_steps=500, fp16=True)
    trainer = Trainer(  # want: leak/eval-gather
        model=model,
        args=training_args,
        data_collator=DataCollatorForLanguageModeling(tokenizer),
        train_dataset=data["train"],
        eval_dataset=data["validation"],
        compute_metrics=compute_metrics,
    )
    trainer.train()


if __name__ == "__main__":
    main()
