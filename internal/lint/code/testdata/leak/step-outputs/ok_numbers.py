# after: pytorch-lightning#4556
import lightning as L
import torch


class Net(L.LightningModule):
    def __init__(self, net):
        super().__init__()
        self.net = net
        self.history = []
        self.scores = []

    def training_step(self, batch, batch_idx):
        loss = self.net(batch).mean()
        self.history.append(loss.item())
        self.history.append({"step": batch_idx, "loss": float(loss)})
        return loss

    def validation_step(self, batch, batch_idx):
        self.scores.append(self.net(batch).detach().cpu())

    def on_validation_epoch_start(self):
        self.scores.clear()
