# after: tier4/Diffusion-Planner#372
import torch
from torch import nn
from tqdm import tqdm

from diffusion_planner.loss import diffusion_loss_func
from diffusion_planner.utils import ddp


def train_epoch(data_loader, model, optimizer, args, ema):
    epoch_loss = []
    model.train()
    if args.ddp:
        torch.cuda.synchronize()
    with tqdm(data_loader, desc="Training", unit="batch") as data_epoch:
        for inputs in data_epoch:
            inputs = {k: v.to(args.device) for k, v in inputs.items()}
            optimizer.zero_grad()
            loss = {}
            loss, _ = diffusion_loss_func(model, inputs, ddp.get_model(model, args.ddp).sde.marginal_prob, loss)
            loss["loss"] = loss["neighbor_prediction_loss"] + args.alpha * loss["ego_planning_loss"]
            loss["loss"].backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5)
            optimizer.step()
            ema.update(model)
            data_epoch.set_postfix(loss="{:.4f}".format(loss["loss"].item()))
            epoch_loss.append(loss)  # want: leak/list-with-graph
    return {k: sum(float(x[k]) for x in epoch_loss) / len(epoch_loss) for k in epoch_loss[0]}
