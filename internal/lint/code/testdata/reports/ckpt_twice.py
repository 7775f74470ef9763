# after: huggingface/transformers#22123
import torch

device = "cuda"
model = build().to(device)
checkpoint = torch.load("ckpt.pt", map_location=device)  # want: peak/checkpoint-load
model.load_state_dict(checkpoint["model"])
optimizer = torch.optim.AdamW(model.parameters())
optimizer.load_state_dict(checkpoint["optimizer"])
for step in range(1000):
    loss = model(batch(step)).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
