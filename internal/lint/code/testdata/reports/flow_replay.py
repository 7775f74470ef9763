# after: recursionpharma/gflownet#130
import random

import torch


class ReplayBuffer:
    def __init__(self, capacity):
        self.buffer = []
        self.capacity = capacity
        self.position = 0

    def push(self, *args):
        if len(self.buffer) < self.capacity:
            self.buffer.append(None)
        self.buffer[self.position] = args
        self.position = (self.position + 1) % self.capacity

    def sample(self, n):
        return [torch.stack(x) for x in zip(*random.sample(self.buffer, n))]


def fill(model, optimizer, env, num_steps):
    replay = ReplayBuffer(80_000)
    for _ in range(num_steps):
        state = env.reset()
        logits = model(state)
        log_prob = torch.log_softmax(logits, -1).max()
        reward = env.step(logits.argmax())
        replay.push(state, log_prob, reward)  # want: leak/logger-tensors
        loss = (log_prob - reward).pow(2)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return replay
