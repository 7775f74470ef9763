# after: pytorch#42111
import threading

import torch
from torchvision import models

model = models.resnet50().eval()
model.cuda()


def answer(conn):
    with torch.inference_mode():
        x = torch.zeros(1, 3, 224, 224, device="cuda")
        conn.sendall(bytes(model(x).argmax(-1).tolist()))


def serve(listener):
    while True:
        conn, _ = listener.accept()
        threading.Thread(target=answer, args=(conn,)).start()  # want: third/thread-workspaces
