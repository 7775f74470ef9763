import os

wanted = "max_split_size:128"
if os.environ.get("PYTORCH_CUDA_ALLOC_CONF") == wanted:
    raise SystemExit("that is no option")
