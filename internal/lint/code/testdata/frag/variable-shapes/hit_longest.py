# after: SpecForge PR#739
from torch.utils.data import DataLoader
from transformers import AutoTokenizer, DataCollatorWithPadding

tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")


def loader(dataset):
    collator = DataCollatorWithPadding(tokenizer)  # want (all): frag/variable-shapes
    return DataLoader(dataset, batch_size=32, collate_fn=collator, shuffle=True)
