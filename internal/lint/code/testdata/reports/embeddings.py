# after: BM-K/Sentence-Embedding-Is-All-You-Need#8
import torch
from transformers import AutoModel, AutoTokenizer

model = AutoModel.from_pretrained("klue/roberta-base").cuda()
model.eval()
tok = AutoTokenizer.from_pretrained("klue/roberta-base")
embeddings = []
for i in range(0, len(docs), 100):
    enc = tok(docs[i:i + 100], padding=True, return_tensors="pt").to("cuda")
    batch = model(**enc).last_hidden_state[:, 0]  # want: leak/eval-without-no-grad
    embeddings.append(batch)  # want: leak/list-with-graph
