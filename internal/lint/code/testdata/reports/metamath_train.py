# after: huggingface/peft#2894
import gc

import torch


def train(model, dataset, optimizer, max_steps, autocast):
    losses = []
    for step, batch in zip(range(max_steps), dataset):
        batch = {k: v.to(model.device) for k, v in batch.items()}
        optimizer.zero_grad()
        with autocast:
            loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        torch.cuda.empty_cache()  # want: frag/empty-cache-loop
        gc.collect()
    return losses
