import os

import torch

if torch.cuda.is_available():
    model = torch.nn.Linear(8, 8).cuda()
else:
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    model = torch.nn.Linear(8, 8)
