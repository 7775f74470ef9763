import os

import torch

teacher = torch.nn.Linear(8, 8).cuda()
os.environ["CUDA_VISIBLE_DEVICES"] = "1"  # want: conf/ignored-variable
student = torch.nn.Linear(8, 8).cuda()
