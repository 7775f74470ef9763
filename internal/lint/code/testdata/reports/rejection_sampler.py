# after: sbi-dev/sbi#198
import torch


class Posterior:
    def __init__(self, neural_net, prior):
        self.neural_net = neural_net
        self.neural_net.eval()
        self.prior = prior

    def sample(self, num_samples, x):
        accepted, remaining = [], num_samples
        while remaining > 0:
            candidates = self.neural_net(torch.randn(remaining, 8), x)  # want: leak/eval-without-no-grad
            inside = self.prior.log_prob(candidates).isfinite()
            accepted.append(candidates[inside])
            remaining -= int(inside.sum())
        return torch.cat(accepted)[:num_samples]


def many(posterior, observations):
    return {k: posterior.sample(10_000, x).numpy() for k, x in observations.items()}
