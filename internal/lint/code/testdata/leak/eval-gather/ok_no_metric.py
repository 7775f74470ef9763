from transformers import AutoModelForCausalLM, Seq2SeqTrainer, Seq2SeqTrainingArguments, Trainer, TrainingArguments

model = AutoModelForCausalLM.from_pretrained("gpt2")


def loss_only(train, val, metrics, args):
    first = Trainer(model=model, args=TrainingArguments("out"), train_dataset=train, eval_dataset=val)
    second = Trainer(model=model, args=TrainingArguments("out", prediction_loss_only=True), eval_dataset=val, compute_metrics=metrics)
    third = Trainer(model=model, args=TrainingArguments("out", batch_eval_metrics=True), eval_dataset=val, compute_metrics=metrics)
    fourth = Seq2SeqTrainer(model=model, args=Seq2SeqTrainingArguments("out", predict_with_generate=True), eval_dataset=val, compute_metrics=metrics)
    fifth = Trainer(model=model, args=args, eval_dataset=val, compute_metrics=metrics)
    return first, second, third, fourth, fifth
