# after: huggingface/transformers#26588
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

name = "RWKV/rwkv-4-430m-pile"
tokenizer = AutoTokenizer.from_pretrained(name)
model = AutoModelForCausalLM.from_pretrained(name, device_map="auto")
state = None
while True:
    inputs = tokenizer("The rain fell on the roof.", return_tensors="pt").to("cuda")
    outputs = model(inputs["input_ids"], state=state, use_cache=True)
    state = outputs.state  # want: leak/recurrent-state
    print(torch.cuda.memory_allocated())
