# after: kohya_ss#2481
import torch.utils.checkpoint


class Stack:
    def __init__(self, layers, **checkpoint_options):
        self.layers = layers
        self.options = checkpoint_options

    def forward(self, x):
        for layer in self.layers:
            x = torch.utils.checkpoint.checkpoint(layer, x, **self.options)
        return x
