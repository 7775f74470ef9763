class DataParallel:
    """A scheduler of requests over replicas, nothing of torch."""

    def __init__(self, workers):
        self.workers = workers


pool = DataParallel(workers=4)
