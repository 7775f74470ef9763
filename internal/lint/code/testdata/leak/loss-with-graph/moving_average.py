# after: brax#152
import torch


def train(policy, env, optimizer, steps):
    baseline = 0.0
    for _ in range(steps):
        loss, reward = rollout(policy, env)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        baseline = 0.95 * baseline + 0.05 * loss  # want: leak/loss-with-graph
        print(float(baseline))


def rollout(policy, env):
    action = policy(env.observe())
    reward = env.reward(action)
    return -reward.mean(), reward.mean().item()
