# after: ray-project/ray#7238
import argparse

import gym
import torch

from agents import build_actor_critic


def collect(policy, env, horizon):
    obs = env.reset()
    rows = {"obs": [], "values": [], "rewards": []}
    for _ in range(horizon):
        x = torch.as_tensor(obs).float().unsqueeze(0)
        logits, value = policy(x)
        action = torch.distributions.Categorical(logits=logits).sample()
        obs, reward, done, _ = env.step(action.item())
        rows["obs"].append(x)
        rows["values"].append(value)  # want: leak/list-with-graph
        rows["rewards"].append(reward)
        if done:
            obs = env.reset()
    return rows


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--horizon", type=int, default=4096)
    args = parser.parse_args()
    env = gym.make("PongNoFrameskip-v4")
    policy = build_actor_critic(env)
    optimizer = torch.optim.Adam(policy.parameters(), lr=3e-4)
    while True:
        rows = collect(policy, env, args.horizon)
        returns = torch.tensor(rows["rewards"]).flip(0).cumsum(0).flip(0)
        advantages = returns - torch.cat(rows["values"]).detach().squeeze(1)
        logits, values = policy(torch.cat(rows["obs"]))
        loss = (values.squeeze(1) - returns).pow(2).mean() - (logits.logsumexp(1) * advantages).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
