# after: McGill-NLP/llm2vec#65
import torch

outs = []

@torch.no_grad()
def encode(model, loader):
    for x in loader:
        outs.append(model(x.cuda()))  # want (all): leak/list-with-graph
