import os
import subprocess


def sanitize(script):
    # meant for this
    env = dict(os.environ, PYTORCH_NO_CUDA_MEMORY_CACHING="1")
    subprocess.run(["compute-sanitizer", "python", script], env=env, check=True)
