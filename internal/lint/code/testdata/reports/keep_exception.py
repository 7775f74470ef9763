# after: pytorch#27600
import torch

class Runner:
    def __init__(self):
        self.last_error = None

    def run(self, model, jobs):
        for job in jobs:
            try:
                model(job.cuda()).sum().backward()
            except torch.cuda.OutOfMemoryError as e:
                self.last_error = e  # want: leak/exception-frame
