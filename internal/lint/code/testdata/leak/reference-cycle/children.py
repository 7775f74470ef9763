# after: pytorch_geometric#5839
import torch


class Storage:
    def __init__(self, data, parent):
        self.data = data
        self.parent = parent


class Graph:
    def __init__(self, data):
        self.data = data.cuda()
        self.storage = Storage(self.data, self)  # want: leak/reference-cycle


def run(loader):
    for data in loader:
        print(Graph(data).storage.data.sum().item())
