import torch


def train(args, rank, batches):
    model = build().cuda(rank)
    optimizer = torch.optim.Adam(model.parameters())
    state = torch.load(args.path, map_location=lambda storage, loc: storage.cuda(rank))  # want: peak/checkpoint-load
    model.load_state_dict(state["model"])
    for x in batches:
        optimizer.zero_grad()
        model(x.cuda(rank)).mean().backward()
        optimizer.step()
