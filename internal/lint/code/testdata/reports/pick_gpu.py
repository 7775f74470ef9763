# after: pytorch#23544
import argparse
import os

import torch
import torch.nn as nn

parser = argparse.ArgumentParser()
parser.add_argument("--gpu", default="3")
parser.add_argument("--no-cuda", action="store_true")
args = parser.parse_args()

args.cuda = not args.no_cuda and torch.cuda.is_available()
torch.manual_seed(1)
if args.cuda:
    torch.cuda.manual_seed(1)
    os.environ["CUDA_VISIBLE_DEVICES"] = args.gpu  # want: conf/ignored-variable

model = nn.LSTM(300, 512, num_layers=2)
if args.cuda:
    model.cuda()
