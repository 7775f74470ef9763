# after: pytorch#13613
import torch

def collect(model, loader):
    outputs = torch.empty(0).cuda()
    model.eval()
    for x in loader:
        outputs = torch.cat([outputs, model(x.cuda())])  # want: leak/concat-in-loop
    return outputs
