# after: pytorch PR#48696
from torch.cuda.amp import GradScaler, autocast


def fit(net, batches, opt):
    scaler = GradScaler()
    with autocast():  # want: peak/autocast-cache
        for step, batch in enumerate(batches):
            opt.zero_grad()
            loss = net(batch)
            scaler.scale(loss).backward()
            scaler.step(opt)
            scaler.update()
