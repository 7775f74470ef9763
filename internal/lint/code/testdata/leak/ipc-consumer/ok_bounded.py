import torch
import torch.multiprocessing as mp


def produce(q):
    for i in range(1000):
        q.put(torch.full((4,), i, device="cuda"))


if __name__ == "__main__":
    queue = mp.Queue(maxsize=4)
    mp.Process(target=produce, args=(queue,)).start()
