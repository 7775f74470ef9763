import torch


def backward(loss, retain_graph=False, create_graph=False):
    loss.backward(retain_graph=retain_graph, create_graph=create_graph)


def plain(loss):
    loss.backward(create_graph=False)
