# after: pytorch#12501
from threading import Thread

import torch


class Pipeline:
    def __init__(self, model, source):
        self.model = model.cuda().eval()
        self.source = source

    def predict(self, frame):
        with torch.no_grad():
            self.last = self.model(frame.cuda()).cpu()

    def run(self):
        while self.source.is_open():
            frame = self.source.read()
            worker = Thread(target=self.predict, args=(frame,))  # want: third/thread-workspaces
            worker.start()
