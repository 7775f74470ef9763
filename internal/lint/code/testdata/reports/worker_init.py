# after: ai2cm/ace#1395
import torch
from torch.utils.data import DataLoader

def init_worker(worker_id):
    torch.cuda.set_device(0)  # want: dist/worker-context
    torch.manual_seed(worker_id)

loader = DataLoader(ds, num_workers=4, worker_init_fn=init_worker, persistent_workers=True)
