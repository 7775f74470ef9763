# after: boschresearch/Continuous-Recurrent-Units#4
import torch

class CRU(torch.nn.Module):
    def train_epoch(self, dl, optimizer):
        epoch_ll = 0
        epoch_rmse = 0
        for i, data in enumerate(dl):
            optimizer.zero_grad()
            loss, rmse = self.loss_of(self.forward(data), data)
            loss.backward()
            optimizer.step()
            epoch_ll += loss  # want: leak/loss-with-graph
            epoch_rmse += rmse.item()
        return epoch_ll / (i + 1), epoch_rmse / (i + 1)
