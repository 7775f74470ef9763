import os

os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"

from vllm import LLM

engine = LLM(model="Qwen/Qwen2.5-7B-Instruct", enable_sleep_mode=False)
