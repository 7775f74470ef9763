import pytorch_lightning as pl
import torch


def main():
    model = build()
    model.load_state_dict(torch.load("start.pt")["state_dict"])  # want: dist/load-on-gpu0
    trainer = pl.Trainer(accelerator="gpu", devices=4, max_epochs=3)
    trainer.fit(model)
