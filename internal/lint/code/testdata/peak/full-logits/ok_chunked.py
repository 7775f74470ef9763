# after: NeMo-RL PR#918
import torch
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint


def chunk_loss(head, h, y):
    return F.cross_entropy(head(h).float(), y, reduction="sum", ignore_index=-100)


def lm_loss(lm_head, hidden, labels, chunks=8):
    total = 0.0
    for h, y in zip(hidden.chunk(chunks), labels.chunk(chunks)):
        total = total + checkpoint(chunk_loss, lm_head, h, y, use_reentrant=False)
    return total / (labels != -100).sum()
