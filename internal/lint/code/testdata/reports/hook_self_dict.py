# after: jmschrei/tangermeme#84
import torch

class Explainer:
    def __init__(self, model):
        self.model = model
        self.acts = []
        for m in model.modules():
            m.register_forward_hook(self._save)

    def _save(self, module, inputs, output):
        self.acts.append(output)  # want: leak/hook-cache

    def explain(self, loader):
        for x in loader:
            self.model(x).sum().backward()
