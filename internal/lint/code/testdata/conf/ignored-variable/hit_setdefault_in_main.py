# after: axolotl PR#2183
import os

import torch


def main(model, batches):
    model.cuda()
    os.environ.setdefault("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")  # want: conf/ignored-variable
    with torch.no_grad():
        for x in batches:
            model(x.cuda())
