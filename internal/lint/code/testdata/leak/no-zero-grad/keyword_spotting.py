# after: wekws#72
import torch
from torch.nn.utils import clip_grad_norm_


class Executor:
    def train(self, model, optimizer, data_loader, device, args):
        model.train()
        clip = args.get("grad_clip", 50.0)
        for idx, batch in enumerate(data_loader):
            feats, target, lengths = (t.to(device) for t in batch)
            loss = model.loss(model(feats), target, lengths)
            loss.backward()
            grad_norm = clip_grad_norm_(model.parameters(), clip)
            if torch.isfinite(grad_norm):
                optimizer.step()  # want: leak/no-zero-grad
            if idx % 100 == 0:
                print(idx, loss.item())
