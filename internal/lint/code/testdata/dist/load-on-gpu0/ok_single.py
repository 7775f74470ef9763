import torch
from torchvision.models import resnet18

# one process: the tensors go back to the GPU they came from
model = resnet18()
model.load_state_dict(torch.load("resnet18.pt"))
model.eval()
