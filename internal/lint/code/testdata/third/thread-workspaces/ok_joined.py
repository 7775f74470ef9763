# after: pytorch#64412
import threading

import torch


def forward(model, x):
    with torch.no_grad():
        model(x.cuda())


def main(model, inputs):
    while inputs:
        t = threading.Thread(target=forward, args=(model, inputs.pop()))
        t.start()
        t.join()
