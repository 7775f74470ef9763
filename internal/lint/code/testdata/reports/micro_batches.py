# after: verl-project/verl#7874
import torch


class TrainEngine:
    def __init__(self, module, optimizer, loss_fn):
        self.module = module
        self.optimizer = optimizer
        self.loss_fn = loss_fn

    def forward_step(self, micro_batch):
        output = self.module(input_ids=micro_batch["input_ids"], attention_mask=micro_batch["attention_mask"])
        log_probs = torch.log_softmax(output.logits, dim=-1)
        loss, metrics = self.loss_fn(log_probs, micro_batch)
        return loss, {"model_output": {"log_probs": log_probs}, "loss": loss.item(), "metrics": metrics}

    def forward_backward_batch(self, micro_batches):
        output_lst = []
        for micro_batch in micro_batches:
            loss, output = self.forward_step(micro_batch)
            loss.backward()
            output_lst.append(output)  # want: leak/list-with-graph
        return output_lst

    def train_batch(self, data):
        self.optimizer.zero_grad()
        outputs = self.forward_backward_batch(data.split(8))
        torch.nn.utils.clip_grad_norm_(self.module.parameters(), 1.0)
        self.optimizer.step()
        return sum(o["loss"] for o in outputs)
