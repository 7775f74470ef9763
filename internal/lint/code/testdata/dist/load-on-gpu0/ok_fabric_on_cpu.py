import torch
from lightning.fabric import Fabric

fabric = Fabric(accelerator="cpu", devices=4, strategy="ddp")
fabric.launch()
model = build()
model.load_state_dict(torch.load("start.pt"))
