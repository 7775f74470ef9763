import threading

import torch


def worker(model, queue):
    while True:
        with torch.no_grad():
            model(queue.get().cuda())


def start(model, queue):
    for _ in range(2):
        threading.Thread(target=worker, args=(model, queue), daemon=True).start()
