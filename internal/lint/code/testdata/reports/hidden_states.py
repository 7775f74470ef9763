# after: huggingface/transformers#24315
import torch
from transformers import DistilBertModel, DistilBertTokenizerFast

tokenizer = DistilBertTokenizerFast.from_pretrained("distilbert-base-uncased")
bert = DistilBertModel.from_pretrained("distilbert-base-uncased").cuda()


def encode(texts, batch_size=1):
    hidden_states_list = []
    for start in range(0, len(texts), batch_size):
        enc = tokenizer(texts[start:start + batch_size], padding=True, return_tensors="pt").to("cuda")
        hidden_states = bert(**enc, output_hidden_states=True)[0]
        hidden_states_list.append(hidden_states)  # want: leak/list-with-graph
    return torch.cat(hidden_states_list)
