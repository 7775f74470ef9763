# after: axolotl PR#498
from transformers import AutoTokenizer, DataCollatorWithPadding

tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
collator = DataCollatorWithPadding(tokenizer, pad_to_multiple_of=64)
fixed = DataCollatorWithPadding(tokenizer, padding="max_length", max_length=512)
