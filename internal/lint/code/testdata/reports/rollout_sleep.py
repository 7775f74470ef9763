# after: vllm#14189
import os

os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"

import torch
from vllm import LLM, SamplingParams

engine = LLM(model="Qwen/Qwen2.5-7B-Instruct", enable_sleep_mode=True, gpu_memory_utilization=0.6)  # want: conf/expandable-ipc
policy = load_policy().cuda()

for prompts in batches():
    engine.wake_up()
    answers = engine.generate(prompts, SamplingParams(n=8, max_tokens=1024))
    engine.sleep(level=1)
    update(policy, answers)
