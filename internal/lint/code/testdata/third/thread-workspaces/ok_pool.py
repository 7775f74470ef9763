# after: TransformerEngine PR#1389
from concurrent.futures import ThreadPoolExecutor

import torch


def answer(model, x):
    with torch.no_grad():
        return model(x.cuda()).cpu()


def serve(model, source):
    with ThreadPoolExecutor(max_workers=4) as pool:
        while True:
            pool.submit(answer, model, source.get())
