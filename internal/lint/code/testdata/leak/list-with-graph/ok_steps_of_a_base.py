# after: steps of speech models whose base is LightningModule in another file
import torch

from speech.models import BaseModel
from lightning.pytorch import Callback


class Recogniser(BaseModel):
    def forward(self, batch):
        outputs = self.encoder(batch[0])
        return outputs.loss

    def training_step(self, batch, batch_idx):
        return self.forward(batch)

    def validation_step(self, batch, batch_idx):
        out = {"loss": self.forward(batch)}
        self.validation_step_outputs.append(out)
        return out

    def on_validation_epoch_end(self):
        print(len(self.validation_step_outputs))
        self.validation_step_outputs.clear()


class Listen(Callback):
    def on_validation_epoch_end(self, trainer, model):
        signals = []
        for batch in trainer.val_dataloaders:
            signals.append(model(batch))
        print(torch.cat(signals).shape)
