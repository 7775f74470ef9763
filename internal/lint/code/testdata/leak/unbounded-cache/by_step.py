import torch

history = {}


def training_step(model, batch, global_step):
    feats = model.encode(batch).detach()
    loss = torch.nn.functional.mse_loss(feats, batch)
    history[global_step] = feats  # want: leak/unbounded-cache
    return loss
