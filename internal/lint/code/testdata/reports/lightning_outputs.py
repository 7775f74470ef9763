# after: Lightning-AI/pytorch-lightning#16520
import lightning as L
import torch

class Lit(L.LightningModule):
    def __init__(self, net):
        super().__init__()
        self.net = net
        self.training_step_outputs = []

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = torch.nn.functional.mse_loss(self.net(x), y)
        self.training_step_outputs.append(loss)  # want: leak/step-outputs
        return loss

    def on_train_epoch_end(self):
        print(torch.stack(self.training_step_outputs).mean())
