# after: trl PR#5575
import torch.nn.functional as F


def sequence_logps(model, ids, labels):
    logits = model(ids).logits
    logps = F.log_softmax(logits, dim=-1)  # want (all): peak/full-logits
    return logps.gather(-1, labels.unsqueeze(-1)).squeeze(-1)
