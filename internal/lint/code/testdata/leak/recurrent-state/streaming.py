import torch
from transformers import RwkvForCausalLM

model = RwkvForCausalLM.from_pretrained("rwkv-4").cuda()
state = None
token = first()
while True:
    outputs = model(token, state=state)
    state = outputs.state  # want: leak/recurrent-state
    token = outputs.logits[:, -1].argmax(-1, keepdim=True)
    print(token.item())
