import torch


def logprobs(model, ids):
    out = model(ids)
    logps = torch.log_softmax(out.logits.to(torch.float32), dim=-1)  # want: peak/full-logits
    return torch.gather(logps[:, :-1], 2, ids[:, 1:, None]).squeeze(-1)
