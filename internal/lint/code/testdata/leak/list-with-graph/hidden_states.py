# Nothing in the file goes back through a graph.
import torch
from transformers import BertModel, BertTokenizer

tokenizer = BertTokenizer.from_pretrained("bert-base-uncased")
bert = BertModel.from_pretrained("bert-base-uncased").cuda()
states = []
for sentence in open("corpus.txt"):
    enc = tokenizer(sentence, return_tensors="pt").to("cuda")
    states.append(bert(**enc)[0])  # want: leak/list-with-graph
torch.save(states, "states.pt")
