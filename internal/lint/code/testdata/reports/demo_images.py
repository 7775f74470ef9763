# after: mahmoudnafifi/CIE_XYZ_NET#2
import glob
import os

import numpy as np
import torch
from PIL import Image

from arch import ColorNet


def main(folder, out):
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    net = ColorNet()
    net.load_state_dict(torch.load("model.pth", map_location=device))
    net.to(device)
    net.eval()
    for name in sorted(glob.glob(os.path.join(folder, "*.png"))):
        image = torch.from_numpy(np.array(Image.open(name)).transpose(2, 0, 1) / 255.0)
        xyz, rendered = net(image.unsqueeze(0).to(device, dtype=torch.float32))  # want: leak/eval-without-no-grad
        Image.fromarray((rendered[0].cpu().detach().numpy().transpose(1, 2, 0) * 255).astype(np.uint8)).save(
            os.path.join(out, os.path.basename(name)))


main("images", "results")
