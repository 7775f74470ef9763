# after: Comfy-Org/ComfyUI#11038
import torch

def attention(q, k, v):
    try:
        sim = torch.einsum("b i d, b j d -> b i j", q, k)
        return sim.softmax(-1) @ v
    except torch.cuda.OutOfMemoryError:
        torch.cuda.empty_cache()
        return attention_sliced(q, k, v)  # want: leak/exception-frame

def attention_sliced(q, k, v):
    return torch.cat([torch.einsum("b i d, b j d -> b i j", a, k).softmax(-1) @ v for a in q.split(1, 1)], 1)
