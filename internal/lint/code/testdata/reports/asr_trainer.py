# after: gentaiscool/end2end-asr-pytorch#29
import logging

from tqdm import tqdm

from utils.functions import save_model
from utils.metrics import calculate_cer, calculate_metrics


class Trainer:
    def train(self, model, train_loader, valid_loaders, opt, loss_type, num_epochs, label2id):
        best = 1e9
        for epoch in range(num_epochs):
            model.train()
            for src, tgt, src_lengths in tqdm(train_loader):
                opt.zero_grad()
                pred, gold, hyp = model(src.cuda(), src_lengths.cuda(), tgt.cuda())
                loss, _ = calculate_metrics(pred, gold, loss_type)
                loss.backward()
                opt.step()
            model.eval()
            for valid_loader in valid_loaders:
                total_loss, total_cer = 0, 0
                for src, tgt, src_lengths in tqdm(valid_loader):
                    pred, gold, hyp = model(src.cuda(), src_lengths.cuda(), tgt.cuda())  # want: leak/eval-without-no-grad
                    loss, _ = calculate_metrics(pred, gold, loss_type)
                    total_loss += loss.item()
                    total_cer += calculate_cer(hyp, gold)
                logging.info("valid loss %.4f cer %.2f", total_loss, total_cer)
            if total_loss < best:
                best = total_loss
                save_model(model, epoch)
