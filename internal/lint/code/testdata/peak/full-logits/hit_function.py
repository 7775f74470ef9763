# after: LongVA PR#19
import torch
import torch.nn.functional as F


def lm_loss(model, ids, labels, vocab_size):
    logits = model(ids).logits
    return F.cross_entropy(logits.float().view(-1, vocab_size), labels.view(-1), ignore_index=-100)  # want: peak/full-logits
