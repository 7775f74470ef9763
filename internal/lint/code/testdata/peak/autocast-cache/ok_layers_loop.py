import torch


class Decoder(torch.nn.Module):
    def forward(self, x):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            for layer in self.layers:
                x = layer(x)
        return x
