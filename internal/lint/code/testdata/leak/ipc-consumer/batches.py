# after: OpenNMT-py#1849
import torch
from torch import multiprocessing as mp


def batch_producer(batches, semaphore, device_id):
    queue = mp.get_context("spawn").Queue()
    start_consumer(queue)
    for batch in batches:
        semaphore.acquire()
        batch.src = batch.src.to(torch.device("cuda", device_id))
        src = batch.src.cuda(device_id)
        queue.put((src, batch.idx))  # want: leak/ipc-consumer


def start_consumer(queue):
    raise NotImplementedError
