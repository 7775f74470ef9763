# These make a number of what they get: a wait for the GPU, not a leak.
import torch
import wandb
from torch.utils.tensorboard import SummaryWriter
from tqdm import tqdm


def train(model, loader, opt):
    writer = SummaryWriter()
    bar = tqdm(loader)
    for step, x in enumerate(bar):
        loss = model(x).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        writer.add_scalar("loss", loss, step)
        wandb.log({"loss": loss})
        bar.set_postfix(loss=loss)
        bar.update(1)
