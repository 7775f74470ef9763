# after: torchtune PR#2881
import os


def set_limit(mb):
    # not known before the run
    os.environ["PYTORCH_CUDA_ALLOC_CONF"] = f"max_split_size_mb:{mb}"


set_limit(256)
