import torch


class Module(torch.nn.Module):
    def training_step(self, batch, index):
        stream = torch.cuda.Stream(priority=-1)  # want: frag/stream-per-call
        with torch.cuda.stream(stream):
            features = self.backbone(batch)
        stream.synchronize()
        return self.head(features).mean()
