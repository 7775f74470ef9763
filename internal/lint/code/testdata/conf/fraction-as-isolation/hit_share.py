import torch
import torch.multiprocessing as mp


def serve(rank, workers):
    torch.cuda.set_per_process_memory_fraction(1.0 / workers, 0)  # want: conf/fraction-as-isolation
    torch.zeros(1, device="cuda:0")


if __name__ == "__main__":
    mp.spawn(serve, args=(4,), nprocs=4)
