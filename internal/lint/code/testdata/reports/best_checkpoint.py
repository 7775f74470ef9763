# after: huggingface/transformers#20920
import os

import torch


class Trainer:
    def __init__(self, model, args):
        self.model = model.to(args.device)
        self.args = args
        self.best = None

    def load_best(self):
        path = os.path.join(self.best, "pytorch_model.bin")
        state_dict = torch.load(path)  # want (all): peak/checkpoint-load
        result = self.model.load_state_dict(state_dict, False)
        print("missing", result.missing_keys)

    def train(self, loader, optimizer):
        for batch in loader:
            loss = self.model(**batch).loss
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        self.load_best()
