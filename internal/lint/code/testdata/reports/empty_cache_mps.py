# after: hao-ai-lab/FastVideo#606
import gc
import torch

for epoch in range(epochs):
    for latents in loader:
        opt.zero_grad()
        loss = (model(latents) - latents).pow(2).mean()
        loss.backward()
        opt.step()
        gc.collect()
        torch.cuda.empty_cache()  # want: frag/empty-cache-loop
