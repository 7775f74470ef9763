import os
import subprocess

import torch


def launch(jobs):
    if not torch.cuda.is_available():
        raise SystemExit("no GPU")
    for i, job in enumerate(jobs):
        env = os.environ.copy()
        env["CUDA_VISIBLE_DEVICES"] = str(i)
        subprocess.Popen(job, env=env)
