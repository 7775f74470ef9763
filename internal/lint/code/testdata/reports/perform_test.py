# after: facebookresearch/SlowFast#411
import torch


@torch.no_grad()
def eval_epoch(val_loader, model, meter, device="cuda"):
    model.eval()
    all_preds, all_labels = [], []
    for clips, labels, _, _ in val_loader:
        clips = [c.cuda(non_blocking=True) for c in clips]
        labels = labels.cuda()
        preds = model(clips)
        all_preds.append(preds)  # want (all): leak/list-with-graph
        all_labels.append(labels)
    meter.log(torch.cat(all_preds), torch.cat(all_labels))
