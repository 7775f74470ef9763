# after: pytorch#17630
import torch


def main(make):
    while True:
        net = make().cuda()
        opt = torch.optim.Adam(net.parameters(), lr=1e-3)
        sched = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, "max", patience=3)
        net.fit(opt, sched)
