# after: leftthomas/SRGAN#43
import torch
from torch.utils.data import DataLoader

netG = build_generator().cuda()
val_loader = DataLoader(val_set, batch_size=1)
for epoch in range(100):
    netG.train()
    train_one(netG)
    netG.eval()
    val_images = []
    results = {"mse": 0}
    for lr, hr in val_loader:
        sr = netG(lr.cuda())  # want: leak/eval-without-no-grad
        results["mse"] += ((sr - hr.cuda()) ** 2).mean().item()
