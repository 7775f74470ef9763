# after: pytorch-forecasting#1924
import lightning as L
import torch
from torch import nn


class Forecaster(L.LightningModule):
    def __init__(self, net):
        super().__init__()
        self.net = net
        self.training_step_outputs = []

    def training_step(self, batch, batch_idx):
        x, y = batch
        y_hat = self.net(x)
        loss = nn.functional.l1_loss(y_hat, y)
        self.log("train_loss", loss, on_epoch=True)
        self.training_step_outputs.append({"loss": loss, "prediction": y_hat})  # want: leak/step-outputs
        return loss

    def on_train_epoch_end(self):
        print(torch.stack([o["loss"] for o in self.training_step_outputs]).mean())
        self.training_step_outputs.clear()
