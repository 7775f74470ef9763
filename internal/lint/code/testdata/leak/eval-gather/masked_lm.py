# after: transformers#12878
from transformers import BertForMaskedLM, Trainer, TrainingArguments


def main(train, val, perplexity, collator):
    model = BertForMaskedLM.from_pretrained("bert-base-uncased")
    training_args = TrainingArguments("out", evaluation_strategy="epoch", eval_accumulation_steps=None)
    return Trainer(  # want: leak/eval-gather
        model=model,
        args=training_args,
        data_collator=collator,
        train_dataset=train,
        eval_dataset=val,
        compute_metrics=perplexity,
    )
