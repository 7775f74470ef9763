# after: oxwhirl/pymarl#73
import torch

class EpisodeRunner:
    def __init__(self, env, mac, buffer):
        self.env, self.mac = env, mac
        self.episodes = []

    def run(self, n):
        for t in range(n):
            actions = self.mac(self.env.observe()).softmax(-1)
            reward = self.env.step(actions.argmax(-1).cpu().numpy())
            self.episodes.append((actions, reward))  # want: leak/list-with-graph
