# after: pytorch-lightning#8453
from lightning.pytorch.callbacks import Callback


class KeepPredictions(Callback):
    def __init__(self):
        self.predictions = []

    def on_validation_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        self.predictions.append(outputs)  # want: leak/step-outputs

    def on_fit_end(self, trainer, pl_module):
        print(len(self.predictions))
