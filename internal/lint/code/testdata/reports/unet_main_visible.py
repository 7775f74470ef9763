# after: Project-MONAI/MONAI#2161
import logging
import os
import sys
import tempfile

import torch
from monai.config import print_config
from monai.losses import DiceLoss
from monai.networks.nets import UNet

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
warm = torch.zeros(1, device=device)


def main(tempdir):
    os.environ["CUDA_VISIBLE_DEVICES"] = "0"  # want: conf/ignored-variable
    print_config()
    logging.basicConfig(stream=sys.stdout, level=logging.INFO)
    model = UNet(2, 1, 1, channels=(16, 32, 64, 128), strides=(2, 2, 2)).to(device)
    loss_function = DiceLoss(sigmoid=True)
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    print(len(os.listdir(tempdir)), loss_function, optimizer)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as tempdir:
        main(tempdir)
