# after: SlowFast#411
import torch


@torch.no_grad()
def perform_test(test_loader, model, meter):
    all_preds, all_labels = [], []
    for inputs, labels in test_loader:
        preds = model(inputs.cuda(non_blocking=True))
        all_preds.append(preds)  # want (all): leak/list-with-graph
        all_labels.append(labels)
    meter.finish(torch.cat(all_preds), torch.cat(all_labels))
