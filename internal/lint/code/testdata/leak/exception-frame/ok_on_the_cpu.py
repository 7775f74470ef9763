# The retry needs none of the memory that the failed call holds.
import torch


def solve(a, b):
    try:
        return torch.linalg.solve(a, b)
    except RuntimeError:
        return torch.linalg.lstsq(a, b).solution


def connect(client, url):
    try:
        return client.get(url)
    except ConnectionError:
        return client.get(url)
