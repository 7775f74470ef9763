import torch


class Trainer:
    def __init__(self, model, path):
        self.device = torch.device("cuda")
        self.model = model.to(self.device)
        self.checkpoint = torch.load(path, map_location=self.device)  # want: peak/checkpoint-load
        self.model.load_state_dict(self.checkpoint["model"])
        self.optimizer = torch.optim.AdamW(self.model.parameters())
        self.optimizer.load_state_dict(self.checkpoint["optimizer"])

    def step(self, batch):
        self.optimizer.zero_grad()
        loss = self.model(batch.to(self.device))
        loss.backward()
        self.optimizer.step()
        return loss.item()
