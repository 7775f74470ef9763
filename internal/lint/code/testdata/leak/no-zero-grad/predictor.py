# after: waypoint-predictor#4
import torch


def train(model, loader, epochs):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    model.train()
    for _ in range(epochs):
        for rgb, depth, target in loader:
            out = model(rgb.cuda(), depth.cuda())
            loss = ((out - target.cuda()) ** 2).mean()
            loss.backward()
            optimizer.step()  # want: leak/no-zero-grad
