# after: dmlc/dgl#5302
import argparse

import dgl
import dgl.nn as dglnn
import torch
import torch.nn as nn
import torch.nn.functional as F
from dgl.data import AsNodePredDataset
from dgl.dataloading import DataLoader, NeighborSampler
from ogb.nodeproppred import DglNodePropPredDataset


class SAGE(nn.Module):
    def __init__(self, in_size, hid_size, out_size):
        super().__init__()
        self.layers = nn.ModuleList([dglnn.SAGEConv(in_size, hid_size, "mean"), dglnn.SAGEConv(hid_size, out_size, "mean")])

    def forward(self, blocks, x):
        for l, (layer, block) in enumerate(zip(self.layers, blocks)):
            x = layer(block, x)
            if l != len(self.layers) - 1:
                x = F.relu(x)
        return x


def train(args, device, g, dataset, model):
    sampler = NeighborSampler([10, 10], prefetch_node_feats=["feat"], prefetch_labels=["label"])
    loader = DataLoader(g, dataset.train_idx.to(device), sampler, device=device, batch_size=1024, shuffle=True)
    opt = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=5e-4)
    for epoch in range(10):
        model.train()
        total_loss = 0
        for it, (input_nodes, output_nodes, blocks) in enumerate(loader):
            y_hat = model(blocks, blocks[0].srcdata["feat"])
            loss = F.cross_entropy(y_hat, blocks[-1].dstdata["label"])
            opt.zero_grad()
            loss.backward()
            opt.step()
            total_loss += loss  # want: leak/loss-with-graph
        print("Epoch {:05d} | Loss {:.4f}".format(epoch, total_loss / (it + 1)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    args = parser.parse_args()
    dataset = AsNodePredDataset(DglNodePropPredDataset("ogbn-products"))
    g = dataset[0].to("cuda")
    model = SAGE(g.ndata["feat"].shape[1], 256, dataset.num_classes).to("cuda")
    train(args, "cuda", g, dataset, model)
