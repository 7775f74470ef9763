# after: OpenNMT-py#1141
import torch


class Trainer:
    def __init__(self, model, crit):
        self.model, self.crit = model, crit

    def _validate(self, batches):
        self.model.eval()
        stats = 0.0
        for src, tgt in batches:
            stats += self.crit(self.model(src), tgt).item()
        return stats

    def train(self, batches, held_out):
        for step, (src, tgt) in enumerate(batches):
            self.crit(self.model(src), tgt).backward()
            if step % 1000 == 0:
                with torch.no_grad():
                    print(self._validate(held_out))
