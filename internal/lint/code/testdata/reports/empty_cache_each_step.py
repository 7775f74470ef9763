# after: huggingface/transformers#31372
import torch

def train(model, loader, opt):
    for batch in loader:
        loss = model(**batch).loss
        loss.backward()
        opt.step()
        opt.zero_grad()
        torch.cuda.empty_cache()  # want: frag/empty-cache-loop
