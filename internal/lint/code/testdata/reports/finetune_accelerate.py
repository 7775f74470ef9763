# after: ray-project/ray#40940
import torch
from accelerate import Accelerator
from transformers import AutoModelForCausalLM


def training_function(config, train_loader):
    accelerator = Accelerator(mixed_precision="bf16")
    model = AutoModelForCausalLM.from_pretrained(config["name"])
    optimizer = torch.optim.AdamW(model.parameters(), lr=config["lr"])
    model, optimizer, train_loader = accelerator.prepare(model, optimizer, train_loader)
    for epoch in range(config["epochs"]):
        loss_sum = torch.tensor(0.0, device=accelerator.device)
        for step, batch in enumerate(train_loader):
            with accelerator.accumulate(model):
                outputs = model(**batch)
                loss = outputs.loss
                loss_sum += loss  # want: leak/loss-with-graph
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()
            if step % 20 == 0:
                accelerator.print(epoch, step, loss.item())
        accelerator.print(accelerator.gather(loss_sum).mean() / len(train_loader))
