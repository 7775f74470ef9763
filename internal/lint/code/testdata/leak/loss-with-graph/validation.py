# The sum of a validation without no_grad keeps the whole forward of every batch.
import torch
from torchvision.models import resnet50


def validate(model, loader, criterion):
    model.eval()
    val_loss, correct = 0.0, 0
    for x, y in loader:
        out = model(x.cuda())  # want: leak/eval-without-no-grad
        val_loss += criterion(out, y.cuda())  # want: leak/loss-with-graph
        correct += (out.argmax(1) == y.cuda()).sum()
    print(val_loss / len(loader), correct / len(loader.dataset))


model = resnet50(num_classes=10).cuda()
validate(model, torch.load("val.pt"), torch.nn.CrossEntropyLoss())
