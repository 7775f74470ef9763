# after: alexhernandezgarcia/gflownet#133
import torch
from tqdm import tqdm


class GFlowNetAgent:
    def __init__(self, policy, env, logger, opt, ema_alpha=0.5):
        self.policy = policy
        self.env = env
        self.logger = logger
        self.opt = opt
        self.ema_alpha = ema_alpha
        self.loss_term_ema = None

    def flowmatch_loss(self, batch):
        inflow = self.policy(batch["parents"]).logsumexp(dim=1)
        outflow = self.policy(batch["states"]).logsumexp(dim=1)
        return (inflow - outflow).pow(2).mean()

    def train(self, n_steps):
        for it in tqdm(range(n_steps)):
            batch = self.env.sample_batch()
            loss = self.flowmatch_loss(batch)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.policy.parameters(), 1.0)
            self.opt.step()
            self.opt.zero_grad()
            if self.loss_term_ema is None:
                self.loss_term_ema = loss
            self.loss_term_ema = self.ema_alpha * loss + (1.0 - self.ema_alpha) * self.loss_term_ema  # want: leak/loss-with-graph
            self.logger.log_metric("ema", self.loss_term_ema.item(), it)
