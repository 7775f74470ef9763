# after: transformers PR#31530
import torch


def run(model, loader, optimizer, evaluate, epochs):
    for epoch in range(epochs):
        for batch in loader:
            optimizer.zero_grad()
            loss = model(**batch).loss
            loss.backward()
            optimizer.step()
        torch.cuda.empty_cache()
        evaluate(model)
