import torch
import torch.nn.functional as F


def policy_loss(policy, states, actions, returns):
    logits = policy(states)
    log_probs = F.log_softmax(logits, dim=-1)  # want (all): peak/full-logits
    chosen = log_probs.gather(-1, actions[:, None]).squeeze(-1)
    return -(chosen * returns).mean()
