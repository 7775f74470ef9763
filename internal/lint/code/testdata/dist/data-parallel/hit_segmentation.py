# after: RAFT#33
import argparse

import torch.nn as nn
from models import FlowNet

parser = argparse.ArgumentParser()
parser.add_argument("--gpus", type=int, nargs="+", default=[0, 1])


def train(args):
    model = nn.DataParallel(FlowNet(args), device_ids=args.gpus)  # want: dist/data-parallel
    model.cuda()
    model.train()
    return model


if __name__ == "__main__":
    train(parser.parse_args())
