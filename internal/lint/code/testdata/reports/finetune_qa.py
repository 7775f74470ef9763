# after: pai4451/ML2021#2
import argparse

import torch
from torch.optim import AdamW
from transformers import AutoModelForQuestionAnswering

parser = argparse.ArgumentParser()
parser.add_argument("--name", default="bert-base-chinese")
parser.add_argument("--epochs", type=int, default=3)
args = parser.parse_args()
device = "cuda" if torch.cuda.is_available() else "cpu"


def run(train_loader, logging_step=100):
    model = AutoModelForQuestionAnswering.from_pretrained(args.name).to(device)
    optimizer = AdamW(model.parameters(), lr=1e-4)
    for epoch in range(args.epochs):
        step, train_loss = 1, 0
        for data in train_loader:
            data = [i.to(device) for i in data]
            output = model(input_ids=data[0], attention_mask=data[1], start_positions=data[2], end_positions=data[3])
            train_loss += output.loss  # want: leak/loss-with-graph
            output.loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            step += 1
        print(f"Epoch {epoch} | loss = {train_loss.item() / step:.3f}")
    model.save_pretrained("qa")
