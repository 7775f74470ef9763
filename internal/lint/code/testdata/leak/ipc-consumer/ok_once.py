# One tensor, shared on purpose.
import torch
import torch.multiprocessing as mp


def main(worker):
    q = mp.Queue()
    weights = torch.randn(10, device="cuda")
    q.put(weights)
    p = mp.Process(target=worker, args=(q,))
    p.start()
    p.join()
