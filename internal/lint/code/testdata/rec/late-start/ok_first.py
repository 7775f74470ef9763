# after: Megatron-Bridge PR#3487
import torch
from torchvision.models import resnet50

torch.cuda.memory._record_memory_history(max_entries=100_000)
model = resnet50().cuda()
torch.cuda.memory._dump_snapshot("model.pickle")
