# after: Shreeyak/pytorch-lightning-segmentation-template#43
import pytorch_lightning as pl
import torch

from losses import CrossEntropy2D
from metrics import IouMetric
from models import DeepLabV3Plus


class DeepLab(pl.LightningModule):
    def __init__(self, cfg):
        super().__init__()
        self.model = DeepLabV3Plus(cfg)
        self.criterion = CrossEntropy2D()
        self.iou_train = IouMetric(cfg.num_classes)

    def forward(self, x):
        return self.model(x)

    def training_step(self, batch, batch_idx):
        inputs, labels = batch
        outputs = self.model(inputs)
        predictions = torch.argmax(outputs, dim=1)
        loss = self.criterion(outputs, labels)
        self.iou_train.accumulate(predictions, labels)
        return {"loss": loss, "predictions": predictions[:1].cpu()}

    def training_epoch_end(self, outputs):
        self.log("Train/mIoU", self.iou_train.get_iou())
        self.logger.experiment.add_images("Train/predictions", outputs[0]["predictions"].unsqueeze(1))

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)
