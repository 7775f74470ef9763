# Each part is summed for the log; backward runs on their sum.
import torch
import torch.nn.functional as F
from models import Detector

model = Detector().cuda()
optimizer = torch.optim.AdamW(model.parameters())
sums = {"box": 0.0, "cls": 0.0}
for images, boxes, labels in train_loader:
    pred_boxes, pred_labels = model(images.cuda())
    box_loss = F.smooth_l1_loss(pred_boxes, boxes.cuda())
    cls_loss = F.cross_entropy(pred_labels, labels.cuda())
    loss = box_loss + 0.5 * cls_loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    sums["box"] += box_loss  # want: leak/loss-with-graph
    sums["cls"] += cls_loss.item()
