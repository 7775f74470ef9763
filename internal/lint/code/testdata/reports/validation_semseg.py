# after: hszhao/semseg#60
import time
import torch

def validate(val_loader, model, criterion):
    model.eval()
    end = time.time()
    for i, (image, target) in enumerate(val_loader):
        image = image.cuda(non_blocking=True)
        target = target.cuda(non_blocking=True)
        output = model(image)  # want: leak/eval-without-no-grad
        loss = criterion(output, target)
        print(i, loss.item(), time.time() - end)
