import deepspeed
import torch


def main(args):
    model = build(args)
    model.load_state_dict(torch.load(args.checkpoint))  # want: dist/load-on-gpu0
    engine, optimizer, _, _ = deepspeed.initialize(args=args, model=model, model_parameters=model.parameters())
    return engine
