# after: axolotl-ai-cloud/axolotl#2183
import os
import torch

x = torch.zeros(1).cuda()
os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"  # want: conf/ignored-variable
model = build().cuda()
