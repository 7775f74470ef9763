# after: caikit/caikit-nlp#258
from torch.optim import AdamW
from tqdm import tqdm
from transformers import get_linear_schedule_with_warmup


class PeftPromptTuning:
    @classmethod
    def _execute_train_loop(cls, model, train_dataloader, num_epochs, learning_rate, accelerator):
        optimizer = AdamW(model.parameters(), lr=learning_rate)
        scheduler = get_linear_schedule_with_warmup(optimizer, 0, len(train_dataloader) * num_epochs)
        model, optimizer, scheduler = accelerator.prepare(model, optimizer, scheduler)
        training_loss_tracker = []
        for epoch in range(num_epochs):
            model.train()
            step_loss_log = {}
            for step, batch in enumerate(tqdm(train_dataloader)):
                with accelerator.accumulate(model):
                    outputs = model(**batch)
                    loss = outputs.loss
                    accelerator.backward(loss)
                    optimizer.step()
                    scheduler.step()
                    optimizer.zero_grad()
                    step_loss_log[step] = loss  # want: leak/list-with-graph
            training_loss_tracker.append({"epoch": epoch, "losses": {k: v.item() for k, v in step_loss_log.items()}})
        return model, training_loss_tracker
