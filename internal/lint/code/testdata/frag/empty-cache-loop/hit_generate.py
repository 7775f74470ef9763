import gc

import torch
from tqdm import tqdm


@torch.inference_mode()
def answer_all(model, tokenizer, questions):
    answers = []
    for question in tqdm(questions):
        ids = tokenizer(question, return_tensors="pt").input_ids.cuda()
        out = model.generate(ids, max_new_tokens=256)
        answers.append(tokenizer.decode(out[0]))
        del ids, out
        gc.collect()
        torch.cuda.empty_cache()  # want: frag/empty-cache-loop
    return answers
