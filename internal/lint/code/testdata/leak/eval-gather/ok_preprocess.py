# after: transformers#15466
from transformers import AutoModelForMaskedLM, Trainer, TrainingArguments


def main(val, metrics):
    model = AutoModelForMaskedLM.from_pretrained("bert-base-uncased")
    return Trainer(
        model=model,
        args=TrainingArguments(output_dir="out"),
        eval_dataset=val,
        compute_metrics=metrics,
        preprocess_logits_for_metrics=lambda logits, labels: logits.argmax(-1),
    )
