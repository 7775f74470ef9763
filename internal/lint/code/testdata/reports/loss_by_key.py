# after: jokester-zzz/SSA-SC#2
import torch
from torch.utils.data import DataLoader

from scene import CompletionNet, SceneDataset, completion_losses


def run_epoch(model, loader, optimizer, device):
    sums = {"total": 0.0, "semantic": 0.0, "geometry": 0.0}
    model.train()
    for voxels, target in loader:
        scores = model(voxels.to(device))
        losses = completion_losses(scores, target.to(device))
        optimizer.zero_grad()
        losses["total"].backward()
        optimizer.step()
        for key in losses:
            sums[key] += losses[key]  # want: leak/loss-with-graph
    return {key: value / len(loader) for key, value in sums.items()}


if __name__ == "__main__":
    net = CompletionNet().cuda()
    data = DataLoader(SceneDataset("kitti"), batch_size=2)
    adam = torch.optim.Adam(net.parameters(), lr=1e-3)
    for epoch in range(80):
        print(epoch, run_epoch(net, data, adam, torch.device("cuda")))
