import queue
import threading

import torch


def prefetch(loader, q):
    for batch in loader:
        q.put(batch.cuda(non_blocking=True))


q = queue.Queue()
threading.Thread(target=prefetch, args=([], q)).start()
