# after: pytorch#40400
import torch.distributed as dist


def training_loop(model, loader, optimizer, ranks):
    for batch in loader:
        optimizer.zero_grad()
        loss = model(batch)
        loss.backward()
        optimizer.step()
        group = dist.new_group(ranks)  # want: third/nccl-buffers
        dist.all_reduce(loss.detach(), group=group)
