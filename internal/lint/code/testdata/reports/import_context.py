# after: pytorch#20532
import torch

DEVICE = torch.device("cuda")
SCALE = torch.ones(1, device=DEVICE)  # want: third/context

def normalise(x):
    return x * SCALE
