# after: taggui#188
import os
import subprocess

subprocess.run(
    ["python", "train.py"],
    env=dict(os.environ, PYTORCH_CUDA_ALLOC_CONF="max_split_size:128"),  # want: conf/unknown-option
    check=True,
)
