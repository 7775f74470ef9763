# after: pymarl#73
import torch


class Runner:
    def __init__(self, env, controller):
        self.env = env
        self.controller = controller
        self.episodes = []

    def run(self, steps):
        for _ in range(steps):
            probs = self.controller(self.env.observe()).softmax(-1)
            reward = self.env.step(probs.argmax(-1).cpu().numpy())
            self.episodes.append((probs, reward))  # want: leak/list-with-graph
