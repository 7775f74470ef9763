# after: ludwig-ai/ludwig#1739
from collections import defaultdict

import torch


class Predictor:
    def __init__(self, batch_size=128, horovod=None, device="cuda"):
        self._batch_size = batch_size
        self._horovod = horovod
        self.device = device

    def batch_predict(self, model, dataset, dataset_name=None):
        model.to(self.device)
        model.eval()
        predictions = defaultdict(list)
        with dataset.initialize_batcher(self._batch_size, should_shuffle=False) as batcher:
            while not batcher.last_batch():
                batch = batcher.next_batch()
                inputs = {name: torch.from_numpy(batch[name]).to(self.device) for name in model.input_features}
                preds = model.predictions(inputs)  # want: leak/eval-without-no-grad
                for feature, values in preds.items():
                    for key, value in values.items():
                        predictions[f"{feature}_{key}"].append(value)
        return {k: torch.cat(v).cpu().numpy() for k, v in predictions.items()}
