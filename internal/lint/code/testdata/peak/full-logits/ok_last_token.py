import torch


@torch.no_grad()
def next_token(model, ids, vocab_size):
    logits = model(ids).logits[:, -1, :].float()
    probs = torch.softmax(logits.view(-1, vocab_size), dim=-1)
    return torch.multinomial(probs, 1)
