from torch.nn import DataParallel


class DataParallelStrategy:
    """What a user has chosen by its name."""

    def setup(self, module, devices):
        return DataParallel(module=module, device_ids=devices)  # want (all): dist/data-parallel
