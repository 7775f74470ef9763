# after: Lightning-AI/pytorch-lightning#14270
import pytorch_lightning as pl
import torch

class Trainer3D(pl.LightningModule):
    def __init__(self, hmr):
        super().__init__()
        self.hmr = hmr
        self.val_preds = []

    def validation_step(self, batch, batch_nb):
        pred = self.hmr(batch["img"])
        self.val_preds.append(pred["smpl_vertices"])  # want: leak/step-outputs

    def on_validation_epoch_end(self):
        self.log("n", float(len(self.val_preds)))
