# What the environment gives has no graph, nor has an action that is chosen by its index.
import random
import torch
from net import DQN

policy_net = DQN()
memory = []


def select(state):
    with torch.no_grad():
        return policy_net(state).max(1)[1].view(1, 1)


def run(env, episodes):
    for _ in range(episodes):
        state = env.reset()
        while True:
            action = select(state)
            following, reward, done, _ = env.step(action.item())
            memory.append((state, action, following, reward))
            state = following
            if done:
                break
