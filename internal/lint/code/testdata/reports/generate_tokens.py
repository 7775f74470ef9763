# after: allenai/OLMo#164
import argparse

import torch

from olmo import Olmo, Tokenizer


def generate(model, input_ids, max_steps, eos):
    model.eval()
    tokens = input_ids
    for _ in range(max_steps):
        output = model(tokens)  # want: leak/eval-without-no-grad
        next_token = output.logits[:, -1].argmax(dim=-1, keepdim=True)
        tokens = torch.cat([tokens, next_token], dim=1)
        if (next_token == eos).all():
            break
    return tokens


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("checkpoint")
    parser.add_argument("--steps", type=int, default=200)
    args = parser.parse_args()
    model = Olmo.from_checkpoint(args.checkpoint).cuda()
    tokenizer = Tokenizer.from_checkpoint(args.checkpoint)
    for line in open(0):
        ids = torch.tensor([tokenizer.encode(line)]).cuda()
        print(tokenizer.decode(generate(model, ids, args.steps, tokenizer.eos_token_id)[0].tolist()))


if __name__ == "__main__":
    main()
