# after: pytorch#124784
import torch
from torchvision.models import resnet50

model = resnet50().cuda()
torch.cuda.memory._record_memory_history(max_entries=100_000)  # want (all): rec/late-start
model(torch.zeros(1, 3, 224, 224, device="cuda"))
torch.cuda.memory._dump_snapshot("forward.pickle")
