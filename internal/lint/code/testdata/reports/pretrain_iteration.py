# after: codertimo/BERT-pytorch#92
import torch
from torch import nn
from tqdm import tqdm

from .model import BERTLM


class BERTTrainer:
    def __init__(self, bert, vocab_size, train_dataloader, test_dataloader, lr=1e-4):
        self.model = BERTLM(bert, vocab_size).to("cuda")
        self.train_data, self.test_data = train_dataloader, test_dataloader
        self.optim = torch.optim.Adam(self.model.parameters(), lr=lr)
        self.criterion = nn.NLLLoss(ignore_index=0)

    def train(self, epoch):
        self.iteration(epoch, self.train_data)

    def test(self, epoch):
        self.iteration(epoch, self.test_data, train=False)

    def iteration(self, epoch, data_loader, train=True):
        avg_loss = 0.0
        for i, data in tqdm(enumerate(data_loader), desc=f"EP_{epoch}"):
            next_sent, mask_lm = self.model.forward(data["bert_input"], data["segment_label"])  # want: leak/eval-without-no-grad
            loss = self.criterion(next_sent, data["is_next"]) + self.criterion(mask_lm.transpose(1, 2), data["bert_label"])
            if train:
                self.optim.zero_grad()
                loss.backward()
                self.optim.step()
            avg_loss += loss.item()
        print(epoch, avg_loss / len(data_loader))
