# after: TRI-ML/packnet-sfm#51
import torch

class HorovodTrainer:
    def train(self, loader, module, optimizer):
        outputs = []
        for i, batch in enumerate(loader):
            optimizer.zero_grad()
            loss = module(batch).mean()
            loss.backward()
            optimizer.step()
            outputs.append({"loss": loss})  # want: leak/list-with-graph
        return outputs
