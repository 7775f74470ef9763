# after: nanoGPT#158
import os

import torch
from model import GPT, GPTConfig

device = "cuda"
out_dir = "out"

checkpoint = torch.load(os.path.join(out_dir, "ckpt.pt"), map_location=device)  # want: peak/checkpoint-load
model = GPT(GPTConfig(**checkpoint["model_args"]))
model.load_state_dict(checkpoint["model"])
model.to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=6e-4)
optimizer.load_state_dict(checkpoint["optimizer"])

for step in range(1000):
    x = torch.randint(0, 50304, (12, 1024), device=device)
    optimizer.zero_grad(set_to_none=True)
    loss = model(x, x)
    loss.backward()
    optimizer.step()
