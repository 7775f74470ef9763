# after: BatsResearch/labelmodels#4
import torch

def fit(model, batches, optimizer, n_epochs=10):
    for epoch in range(n_epochs):
        running_loss = 0.0
        for x, y in batches:
            optimizer.zero_grad()
            nll = torch.nn.functional.nll_loss(model(x), y)
            nll.backward()
            optimizer.step()
            running_loss += nll.item()
        print(epoch, running_loss / len(batches))
