# after: pytorch#149187
import torch
import torch.multiprocessing as mp

def producer(q, model, batches):
    for b in batches:
        q.put(model(b.cuda()))  # want: leak/ipc-consumer

if __name__ == "__main__":
    mp.set_start_method("spawn")
    q = mp.Queue()
    p = mp.Process(target=producer, args=(q, build(), data()))
    p.start()
    held = []
    while True:
        held.append(q.get())
