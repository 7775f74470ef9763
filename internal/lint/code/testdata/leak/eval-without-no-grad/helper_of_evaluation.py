# The name says nothing; all that call it have switched the model over.
import torch


def collect(net, batches):
    rows = []
    for x, y in batches:
        scores = net(x.cuda())  # want: leak/eval-without-no-grad
        rows.append((scores.argmax(1).tolist(), y.tolist()))
    return rows


def report(net, batches):
    net.eval()
    rows = collect(net, batches)
    print(sum(p == t for ps, ts in rows for p, t in zip(ps, ts)))


def step(net, batch, opt):
    net.train()
    opt.zero_grad()
    net(batch).mean().backward()
    opt.step()
