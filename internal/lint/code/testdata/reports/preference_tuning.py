# after: stanleylsx/llms_tool#46
from copy import deepcopy

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, TrainingArguments
from trl import DPOTrainer


def train_dpo(config, dataset):
    model = AutoModelForCausalLM.from_pretrained(config.model_path, torch_dtype=torch.float16, device_map="auto")
    tokenizer = AutoTokenizer.from_pretrained(config.model_path)
    reference = deepcopy(model)  # want: peak/model-copy
    reference.eval()
    trainer = DPOTrainer(model, reference, args=TrainingArguments("out"), beta=0.1,
                         train_dataset=dataset, tokenizer=tokenizer)
    trainer.train()
    trainer.save_model("out")
