# The log-probabilities of an episode are what backward needs.
import torch
from torch.distributions import Categorical
from net import Policy

policy = Policy()
optimizer = torch.optim.Adam(policy.parameters())


def select_action(state):
    dist = Categorical(policy(state))
    action = dist.sample()
    policy.saved_log_probs.append(dist.log_prob(action))
    return action.item()


def finish_episode(returns):
    policy_loss = []
    for log_prob, value in zip(policy.saved_log_probs, returns):
        policy_loss.append(-log_prob * value)
    optimizer.zero_grad()
    torch.stack(policy_loss).sum().backward()
    optimizer.step()
    del policy.saved_log_probs[:]


def actor_critic(model, env, steps):
    log_probs, values, rewards = [], [], []
    for _ in range(steps):
        dist, value = model(env.state)
        log_probs.append(dist.log_prob(dist.sample()))
        values.append(value)
        rewards.append(env.step())
    values = torch.cat(values)
    loss = (torch.stack(rewards) - values).square().mean()
    loss.backward()
