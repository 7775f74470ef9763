import torch


class Recorder:
    def __init__(self, model):
        self.kept = []
        self.model = model
        for block in model.blocks:
            block.register_forward_hook(self.save)

    def save(self, module, inputs, output):
        self.kept.append(output)

    def __call__(self, x):
        self.kept.clear()
        self.model(x)
        return self.kept
