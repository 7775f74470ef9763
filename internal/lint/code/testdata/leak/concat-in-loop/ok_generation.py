# The text that is generated has to grow.
import torch
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained("gpt2")


@torch.no_grad()
def complete(ids, n):
    for _ in range(n):
        token = model(ids).logits[:, -1].argmax(-1, keepdim=True)
        ids = torch.cat([ids, token], dim=1)  # want (all): leak/concat-in-loop
    return ids
