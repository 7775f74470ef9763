# after: facebookresearch/MetaBalance#2
import argparse

import torch

from metabalance import MetaBalance
from models import build_recommender


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--relax", type=float, default=0.7)
    parser.add_argument("--epochs", type=int, default=100)
    args = parser.parse_args()
    model = build_recommender(args).cuda()
    shared = [p for n, p in model.named_parameters() if n.startswith("embed")]
    balance = MetaBalance(shared, relax_factor=args.relax)
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        for user, item, label in model.loader():
            main_loss, aux_loss = model(user.cuda(), item.cuda(), label.cuda())
            opt.zero_grad()
            balance.step([main_loss, aux_loss])
            total = main_loss + aux_loss
            total.backward(retain_graph=True)  # want: leak/retain-graph
            opt.step()
        print(epoch, total.item())


if __name__ == "__main__":
    main()
