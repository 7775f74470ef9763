# after: Qwen3#570
import torch.nn as nn
from torch.nn import CrossEntropyLoss


class CausalLM(nn.Module):
    def __init__(self, body, config):
        super().__init__()
        self.model = body
        self.vocab_size = config.vocab_size
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)

    def forward(self, ids, labels=None):
        hidden = self.model(ids)
        logits = self.lm_head(hidden)
        logits = logits.float()  # want: peak/full-logits
        loss = None
        if labels is not None:
            shift_logits = logits[..., :-1, :].contiguous()
            shift_labels = labels[..., 1:].contiguous()
            loss = CrossEntropyLoss()(shift_logits.view(-1, self.vocab_size), shift_labels.view(-1))
        return loss, logits
