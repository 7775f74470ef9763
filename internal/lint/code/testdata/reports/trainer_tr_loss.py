# after: huggingface/transformers#6999
import torch
from torch import nn


class Trainer:
    def __init__(self, model, args, train_dataloader, optimizers):
        self.model = model
        self.args = args
        self.loader = train_dataloader
        self.optimizer, self.lr_scheduler = optimizers

    def training_step(self, model, inputs):
        model.train()
        inputs = {k: v.to(self.args.device) for k, v in inputs.items()}
        outputs = model(**inputs)
        loss = outputs[0]
        if self.args.n_gpu > 1:
            loss = loss.mean()
        loss.backward()
        return loss

    def train(self):
        tr_loss = torch.tensor(0.0).to(self.args.device)
        self.global_step = 0
        for _ in range(int(self.args.num_train_epochs)):
            for inputs in self.loader:
                tr_loss += self.training_step(self.model, inputs)  # want: leak/loss-with-graph
                nn.utils.clip_grad_norm_(self.model.parameters(), self.args.max_grad_norm)
                self.optimizer.step()
                self.lr_scheduler.step()
                self.model.zero_grad()
                self.global_step += 1
        return self.global_step, tr_loss.item() / self.global_step
