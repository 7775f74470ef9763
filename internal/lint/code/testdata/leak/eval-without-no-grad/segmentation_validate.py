# after: semseg#60
import torch
import torch.nn.functional as F


def validate(loader, net, criterion, classes):
    net.eval()
    area, hit, losses = 0, 0, []
    for image, label in loader:
        image, label = image.cuda(non_blocking=True), label.cuda(non_blocking=True)
        logits = net(image)  # want: leak/eval-without-no-grad
        logits = F.interpolate(logits, size=label.shape[-2:], mode="bilinear")
        losses.append(criterion(logits, label).item())
        hit += (logits.argmax(1) == label).sum().item()
        area += label.numel()
    return hit / area, sum(losses) / len(losses)
