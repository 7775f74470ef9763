# after: llm2vec#65
# No graph, but nothing empties the list; what is moved to the CPU is fine.
import torch

vectors, kept = [], []


@torch.no_grad()
def encode(model, loader):
    for x in loader:
        out = model(x.cuda())
        vectors.append(model(x.cuda()))  # want (all): leak/list-with-graph
        kept.append(out.cpu())
