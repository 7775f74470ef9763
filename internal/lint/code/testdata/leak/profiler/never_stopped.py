# after: torchtune#2522
import torch


class Trainer:
    def __init__(self, model, loader):
        self.model, self.loader = model, loader
        self.prof = torch.profiler.profile(record_shapes=True)  # want: leak/profiler

    def fit(self):
        self.prof.start()
        for batch in self.loader:
            self.model.update(batch)
