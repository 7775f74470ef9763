# after: microsoft/hi-ml PR#293
import pytorch_lightning as pl
import torch
from torch import nn, optim


class DeepMILModule(pl.LightningModule):
    def __init__(self, encoder, pooling, num_classes=2, lr=5e-4):
        super().__init__()
        self.encoder = encoder
        self.pooling = pooling
        self.classifier = nn.Linear(encoder.num_encoding, num_classes)
        self.loss_fn = nn.CrossEntropyLoss()
        self.lr = lr

    def forward(self, instances):
        attention, bag = self.pooling(self.encoder(instances))
        return self.classifier(bag), attention

    def _shared_step(self, batch):
        logits, attentions = [], []
        for bag in batch["image"]:
            bag_logit, attention = self(bag)
            logits.append(bag_logit.view(-1))
            attentions.append(attention)
        logits = torch.stack(logits)
        labels = torch.stack(batch["label"])
        loss = self.loss_fn(logits, labels)
        return {"loss": loss, "prob": torch.softmax(logits, 1), "label": labels, "attn": attentions, "image": batch["image"]}

    def training_step(self, batch, batch_idx):
        result = self._shared_step(batch)
        self.log("train/loss", result["loss"])
        return result

    def validation_step(self, batch, batch_idx):
        return self._shared_step(batch)  # want: leak/step-outputs

    def validation_epoch_end(self, outputs):
        self.log("val/loss", torch.stack([o["loss"] for o in outputs]).mean())

    def configure_optimizers(self):
        return optim.Adam(self.parameters(), lr=self.lr)
