import copy

from transformers import AutoModelForCausalLM

policy = AutoModelForCausalLM.from_pretrained("gpt2").to("cuda")
reference = copy.deepcopy(policy).eval()  # want: peak/model-copy
