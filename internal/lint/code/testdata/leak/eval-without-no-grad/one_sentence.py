# One forward after eval: it costs the graph of one batch, no more.
import torch
from transformers import AutoModel, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
model = AutoModel.from_pretrained("bert-base-uncased").cuda()
model.eval()
tokens = tokenizer("The memory is full.", return_tensors="pt").to("cuda")
hidden = model(**tokens).last_hidden_state  # want (all): leak/eval-without-no-grad
print(hidden.shape)
