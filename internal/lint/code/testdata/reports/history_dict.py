# after: IBM/mi-prometheus#111
import torch.nn.functional as F

def train(net, loader, opt, epochs):
    history = {"loss": [], "acc": []}
    for _ in range(epochs):
        for x, y in loader:
            logits = net(x)
            loss = F.cross_entropy(logits, y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            history["loss"].append(loss)  # want: leak/list-with-graph
            history["acc"].append((logits.argmax(1) == y).float().mean().item())
    return history
