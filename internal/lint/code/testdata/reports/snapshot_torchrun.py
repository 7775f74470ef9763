# after: pytorch/examples#1078
import os
import torch
from torch.distributed import init_process_group
from torch.nn.parallel import DistributedDataParallel as DDP

class Trainer:
    def __init__(self, model, path):
        self.gpu_id = int(os.environ["LOCAL_RANK"])
        self.model = model.to(self.gpu_id)
        if os.path.exists(path):
            self._load_snapshot(path)
        self.model = DDP(self.model, device_ids=[self.gpu_id])

    def _load_snapshot(self, path):
        snapshot = torch.load(path)  # want: dist/load-on-gpu0
        self.model.load_state_dict(snapshot["MODEL_STATE"])

def main():
    init_process_group(backend="nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    Trainer(build(), "snapshot.pt")
