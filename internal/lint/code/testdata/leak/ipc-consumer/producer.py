# after: pytorch#27975
import torch
import torch.multiprocessing as mp


def produce(queue):
    while True:
        t = torch.ones(2, 4, device="cuda:0")
        queue.put(t)  # want: leak/ipc-consumer


def consume(queue):
    seen = []
    while True:
        seen.append(queue.get())


if __name__ == "__main__":
    mp.set_start_method("spawn")
    q = mp.Queue()
    workers = [mp.Process(target=produce, args=(q,)), mp.Process(target=consume, args=(q,))]
    for w in workers:
        w.start()
