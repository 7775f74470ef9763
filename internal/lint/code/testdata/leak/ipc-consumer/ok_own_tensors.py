# after: Leopard-EM#72
import torch
import torch.multiprocessing as mp


def match(index, image, templates, out):
    image = image.to(f"cuda:{index}")
    for template in templates:
        score = (image * template.to(image.device)).sum()
        out.put((index, score.item()))
        out.put(score.to("cpu"))
    torch.cuda.synchronize()


def main(image, templates):
    out = mp.Queue()
    workers = [mp.Process(target=match, args=(k, image, templates[k::2], out)) for k in range(2)]
    for w in workers:
        w.start()
