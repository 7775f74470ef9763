# after: NVIDIA-NeMo/Automodel#3907
import torch
import torch.nn.functional as F
from transformers import AutoModelForCausalLM


class MaskedCrossEntropy(torch.nn.Module):
    def forward(self, logits, labels, mask=None):
        if mask is not None:
            labels = labels.masked_fill(mask == 0, -100)
        return F.cross_entropy(logits.view(-1, logits.size(-1)).float(), labels.view(-1))  # want: peak/full-logits


def main():
    model = AutoModelForCausalLM.from_pretrained("openai/gpt-oss-20b", torch_dtype=torch.bfloat16).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    loss_fn = MaskedCrossEntropy()
    for batch in batches():
        labels = batch.pop("labels").cuda()
        out = model(**{k: v.cuda() for k, v in batch.items()})
        loss = loss_fn(out.logits, labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
