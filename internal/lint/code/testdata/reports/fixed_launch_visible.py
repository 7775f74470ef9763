# after: Project-MONAI/MONAI#2161
import os
import subprocess

import torch

device = "cuda" if torch.cuda.is_available() else "cpu"


def launch(gpu, cmd):
    os.environ["CUDA_VISIBLE_DEVICES"] = str(gpu)
    return subprocess.Popen(cmd)
