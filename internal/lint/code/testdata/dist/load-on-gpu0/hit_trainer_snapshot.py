# after: examples#1078
import os

import torch
from torch.distributed import init_process_group
from torch.nn.parallel import DistributedDataParallel as DDP


class Trainer:
    def __init__(self, model, snapshot_path):
        self.gpu_id = int(os.environ["LOCAL_RANK"])
        self.model = model.to(self.gpu_id)
        self.epochs_run = 0
        if os.path.exists(snapshot_path):
            self.load_snapshot(snapshot_path)
        self.model = DDP(self.model, device_ids=[self.gpu_id], gradient_as_bucket_view=True)

    def load_snapshot(self, path):
        snapshot = torch.load(path)  # want: dist/load-on-gpu0
        self.model.load_state_dict(snapshot["MODEL_STATE"])
        self.epochs_run = snapshot["EPOCHS_RUN"]


def setup():
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    init_process_group(backend="nccl")
