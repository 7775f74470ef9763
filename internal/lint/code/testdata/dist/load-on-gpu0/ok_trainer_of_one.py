import lightning as L
import torch

trainer = L.Trainer(devices=1, accelerator="gpu")
model = build()
model.load_state_dict(torch.load("start.pt"))
trainer.fit(model)
