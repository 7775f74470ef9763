# after: grey-eye/talking-heads#7
import torch

for epoch in range(epochs):
    for i, (ids, frames) in enumerate(loader):
        opt_g.zero_grad()
        fake = G(frames)
        loss_G = criterion(D(fake), frames)
        loss_G.backward(retain_graph=True)  # want: leak/retain-graph
        opt_g.step()
        print(loss_G.item())
