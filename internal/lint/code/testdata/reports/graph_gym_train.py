# after: snap-stanford/GraphGym#11
import time

from graphgym.config import cfg
from graphgym.loss import compute_loss


def train_epoch(logger, loader, model, optimizer, scheduler):
    model.train()
    start = time.time()
    for batch in loader:
        optimizer.zero_grad()
        pred, true = model(batch.to(cfg.device))
        loss, pred_score = compute_loss(pred, true)
        loss.backward()
        optimizer.step()
        logger.update_stats(true.detach().cpu(), pred_score.detach().cpu(), loss.item(), time.time() - start)
        start = time.time()
    scheduler.step()


def eval_epoch(logger, loader, model):
    model.eval()
    start = time.time()
    for batch in loader:
        pred, true = model(batch.to(cfg.device))  # want: leak/eval-without-no-grad
        loss, pred_score = compute_loss(pred, true)
        logger.update_stats(true.detach().cpu(), pred_score.detach().cpu(), loss.item(), time.time() - start)
        start = time.time()


def train(loggers, loaders, model, optimizer, scheduler):
    for epoch in range(cfg.optim.max_epoch):
        train_epoch(loggers[0], loaders[0], model, optimizer, scheduler)
        for logger, loader in zip(loggers[1:], loaders[1:]):
            eval_epoch(logger, loader, model)
