import os

os.environ["CUDA_VISIBLE_DEVICES"] = "2"

import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
model = torch.nn.Linear(8, 8).to(device)
