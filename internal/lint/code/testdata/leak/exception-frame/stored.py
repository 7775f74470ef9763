# The exceptions of all failed batches are kept, and each with its frames.
import torch


def sweep(model, batches):
    failures = []
    for batch in batches:
        try:
            model(batch).sum().backward()
        except torch.cuda.OutOfMemoryError as e:
            failures.append(e)  # want: leak/exception-frame
    return failures


class Worker:
    def step(self, batch):
        try:
            self.model(batch).sum().backward()
        except RuntimeError as err:
            if "CUDA out of memory" in str(err):
                self.last_error = err  # want: leak/exception-frame
                return None
            raise
