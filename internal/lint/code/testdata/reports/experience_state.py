# after: Metta-AI/metta#1139
import torch
import torch.nn as nn


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTMCell(64, 128)
        self.head = nn.Linear(128, 4)

    def forward(self, obs, state):
        h, c = self.lstm(obs, state)
        return self.head(h), (h, c)


class Experience:
    def __init__(self):
        self.steps = []

    def store(self, obs, action, state):
        self.steps.append((obs, action, state))


def rollout(env, policy, experience, steps=100000):
    obs = env.reset()
    state = (torch.zeros(1, 128, device="cuda"), torch.zeros(1, 128, device="cuda"))
    for _ in range(steps):
        logits, state = policy(obs.cuda(), state)  # want: leak/recurrent-state
        action = logits.argmax(-1).item()
        experience.store(obs, action, state)
        obs = env.step(action)
