# after: huggingface/trl#5575
import torch.nn.functional as F

def compute_loss(model, batch):
    logits = model(**batch).logits.float()
    logps = F.log_softmax(logits, dim=-1)  # want (all): peak/full-logits
    return -logps.gather(-1, batch["labels"].unsqueeze(-1)).mean()
