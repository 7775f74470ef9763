# after: ray#38039
import pytorch_lightning as pl
import torch


class Net(pl.LightningModule):
    def __init__(self, net):
        super().__init__()
        self.net = net
        self.validation_step_outputs = []

    def training_step(self, batch, batch_idx):
        x, y = batch
        out = self.net(x)
        loss = torch.nn.functional.cross_entropy(out, y)
        return {"loss": loss, "acc": (out.argmax(1) == y).float().mean()}

    def validation_step(self, batch, batch_idx):
        loss = self.net(batch).mean().cpu()
        self.validation_step_outputs.append(loss)
        return loss

    def on_validation_epoch_end(self):
        self.log("val_loss", torch.stack(self.validation_step_outputs).mean())
        self.validation_step_outputs.clear()
