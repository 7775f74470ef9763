# after: pytorch#50185
import torch

class Node:
    def __init__(self, value):
        self.value = value
        self.parent = None
        self.children = []

def rollout(model, n):
    for i in range(n):
        root = Node(model(torch.rand(64, 512, device="cuda")))
        child = Node(root.value.relu())
        child.parent = root
        root.children.append(child)  # want (all): leak/reference-cycle
        child.value.sum().backward()
