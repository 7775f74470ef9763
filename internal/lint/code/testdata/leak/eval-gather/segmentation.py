# after: transformers#28769
import transformers
from transformers import SegformerForSemanticSegmentation


def main(train, val, miou, labels):
    model = SegformerForSemanticSegmentation.from_pretrained("nvidia/mit-b0", num_labels=labels)
    trainer = transformers.Trainer(  # want: leak/eval-gather
        model,
        transformers.TrainingArguments(output_dir="seg", eval_strategy="epoch"),
        train_dataset=train,
        eval_dataset=val,
        compute_metrics=miou,
    )
    trainer.train()
