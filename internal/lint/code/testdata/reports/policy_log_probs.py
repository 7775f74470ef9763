# after: OpenRLHF PR#718
import torch
import torch.nn.functional as F
from torch import nn
from transformers import AutoModelForCausalLM


def log_probs_from_logits(logits, labels):
    log_probs = F.log_softmax(logits.float(), dim=-1)  # want: peak/full-logits
    return log_probs.gather(dim=-1, index=labels.unsqueeze(-1)).squeeze(-1)


class Actor(nn.Module):
    def __init__(self, name):
        super().__init__()
        self.model = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.bfloat16)

    def forward(self, sequences, num_actions, attention_mask):
        output = self.model(sequences, attention_mask=attention_mask)
        log_probs = log_probs_from_logits(output["logits"][:, :-1, :], sequences[:, 1:])
        return log_probs[:, -num_actions:]
