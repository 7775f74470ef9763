# after: stylegan2-pytorch#36
import torch
from torch.utils.data import DataLoader

from networks import Discriminator, Generator


def main(args, dataset):
    generator = Generator(args.size).cuda()
    optimizer = torch.optim.Adam(generator.parameters(), lr=args.lr)
    if args.ckpt:
        ckpt = torch.load(args.ckpt)  # want: peak/checkpoint-load
        generator.load_state_dict(ckpt["g"])
        optimizer.load_state_dict(ckpt["g_optim"])
    for real in DataLoader(dataset, batch_size=16):
        optimizer.zero_grad()
        loss = generator(real.cuda()).mean()
        loss.backward()
        optimizer.step()
