# after: ms-swift PR#5897
import os
import subprocess

import torch

print(torch.zeros(1).cuda())


def run_child(script):
    env = os.environ.copy()
    env["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
    subprocess.run(["python", script], env=env, check=True)
