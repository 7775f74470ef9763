# after: hszhao/semseg#60
import torch

def validate(val_loader, model, criterion):
    model.eval()
    for i, (image, target) in enumerate(val_loader):
        with torch.no_grad():
            output = model(image.cuda())
        loss = criterion(output, target.cuda())
        print(i, loss.item())
