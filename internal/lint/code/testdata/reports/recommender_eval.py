# after: meta-recsys/generative-recommenders#387
import logging

import torch

from dlrm.metrics import MetricsLogger
from dlrm.utils import Profiler

logger = logging.getLogger(__name__)


def eval_loop(rank, model, dataloader, metric_logger: MetricsLogger, device, num_batches=None, output_trace=False):
    model.eval()
    profiler = Profiler(rank, active=10) if output_trace else None
    batch_idx = 0
    dataloader_iter = iter(dataloader)
    metric_logger.reset(mode="eval")
    while True:
        try:
            sample = next(dataloader_iter)
        except StopIteration:
            break
        sample.to(device)
        _, _, aux_losses, preds, labels, weights = model(sample.uih_features, sample.candidates_features)  # want: leak/eval-without-no-grad
        metric_logger.update(mode="eval", predictions=preds, labels=labels, weights=weights)
        if output_trace:
            profiler.step()
        batch_idx += 1
        if num_batches is not None and batch_idx >= num_batches:
            break
    for k, v in metric_logger.compute(mode="eval").items():
        logger.info("%s: %s", k, v)
