# after: OpenNMT-py#1849
import torch
import torch.multiprocessing as mp


def produce(queue, batches):
    for batch in batches:
        t = batch.cuda() * 2
        queue.put(t.cpu())
        queue.put(t.detach().cpu().numpy())
        queue.put(t.shape)
        t = t.cpu()
        queue.put(t)


if __name__ == "__main__":
    q = mp.Queue()
    mp.Process(target=produce, args=(q, [])).start()
