# after: pytorch#69688
import torch

def serve(rank, share):
    torch.cuda.set_per_process_memory_fraction(share, 0)  # want (all): conf/fraction-as-isolation
    model = build().cuda()
    while True:
        model(next_request())
