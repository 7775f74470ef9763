import torch

device = "cuda"
model = torch.nn.Linear(8, 8).to(device)
checkpoint = torch.load("ckpt.pt", map_location=device)
model.load_state_dict(checkpoint["model"])
start = checkpoint["step"]
del checkpoint
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

for step in range(start, 100):
    optimizer.zero_grad()
    loss = model(torch.randn(4, 8, device=device)).sum()
    loss.backward()
    optimizer.step()
