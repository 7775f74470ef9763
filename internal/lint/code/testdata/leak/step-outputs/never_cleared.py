# after: pytorch-lightning#14270
import pytorch_lightning as pl
import torch


class Lifter(pl.LightningModule):
    def __init__(self, net):
        super().__init__()
        self.net = net
        self.val_errors = []

    def training_step(self, batch, batch_idx):
        return ((self.net(batch["x"]) - batch["y"]) ** 2).mean()

    def validation_step(self, batch, batch_idx):
        error = (self.net(batch["x"]) - batch["y"]).norm(dim=-1)
        self.val_errors.append(error)  # want: leak/step-outputs

    def on_validation_epoch_end(self):
        self.log("val_error", torch.cat(self.val_errors).mean())
