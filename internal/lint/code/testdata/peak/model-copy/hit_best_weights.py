# after: flambe PR#168
import copy

import torch


def fit(model, train_loader, validate, optimizer, criterion, epochs):
    device = torch.device("cuda")
    model = model.to(device)
    best, best_weights = 0.0, None
    for epoch in range(epochs):
        model.train()
        for x, y in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(x.to(device)), y.to(device))
            loss.backward()
            optimizer.step()
        score = validate(model)
        if score > best:
            best = score
            best_weights = copy.deepcopy(model.state_dict())  # want: peak/model-copy
    model.load_state_dict(best_weights)
    return model
