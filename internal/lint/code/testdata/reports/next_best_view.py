# after: zhanhz/PC-NBV_pytorch#3
import argparse
import os

import numpy as np
import torch
from torch.utils.data import DataLoader

from dataset import NBVLoader
from models.pc_nbv import AutoEncoder

parser = argparse.ArgumentParser()
parser.add_argument("--model", required=True)
parser.add_argument("--out", default="results")
args = parser.parse_args()

network = AutoEncoder()
network.load_state_dict(torch.load(args.model))
network.cuda()
network.eval()

loader = DataLoader(NBVLoader("test"), batch_size=1, num_workers=8)
for index, (view_state, acc_pc, model_id) in enumerate(loader):
    _, eval_value = network(acc_pc.cuda().permute(0, 2, 1), view_state.cuda())  # want: leak/eval-without-no-grad
    best = np.argmax(eval_value.cpu().detach().numpy())
    with open(os.path.join(args.out, model_id[0]), "w") as f:
        f.write(str(best))
