# after: pytorch#40005
import torch
import torch.nn.functional as F


def distill(teacher, student, loader, optimizer, layers):
    kl = torch.nn.KLDivLoss(reduction="batchmean")
    for inputs in loader:
        with torch.no_grad():
            wanted = teacher(**inputs)[3]
        given = student(**inputs)[3]
        for i, k in enumerate(layers):
            loss = kl(F.log_softmax(given[i + 1], dim=2), F.softmax(wanted[k + 1], dim=2))
            loss.backward(retain_graph=True)  # want: leak/retain-graph
        optimizer.step()
        optimizer.zero_grad()
