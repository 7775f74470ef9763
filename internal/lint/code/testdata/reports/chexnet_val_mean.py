# after: zoogzog/chexnet#12
import torch

class Trainer:
    @staticmethod
    def epoch_val(model, loader, loss):
        model.eval()
        loss_val = 0
        norm = 0
        loss_mean = 0
        for image, target in loader:
            target = target.cuda()
            output = model(image.cuda())  # want: leak/eval-without-no-grad
            losstensor = loss(output, target)
            loss_mean += losstensor  # want: leak/loss-with-graph
            loss_val += losstensor.item()
            norm += 1
        return loss_val / norm, loss_mean / norm
