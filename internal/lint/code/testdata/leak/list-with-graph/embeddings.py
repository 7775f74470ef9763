# Features of a whole dataset with their graphs, returned as one tensor.
import torch
from transformers import AutoModel, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
model = AutoModel.from_pretrained("bert-base-uncased")


def embed(dataloader):
    vectors = []
    for texts in dataloader:
        batch = tokenizer(texts, return_tensors="pt", padding=True).to("cuda")
        out = model(**batch)
        vectors.append(out.last_hidden_state[:, 0])  # want: leak/list-with-graph
    return torch.cat(vectors)
