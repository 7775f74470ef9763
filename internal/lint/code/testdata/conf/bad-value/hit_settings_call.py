# after: torchtune PR#2881
import torch

torch.cuda.memory._set_allocator_settings("expandable_segments:on")  # want: conf/bad-value
