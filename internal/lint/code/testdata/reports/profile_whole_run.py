# after: AnswerDotAI/fsdp_qlora#67
import torch
from torch.profiler import ProfilerActivity, profile


def train(model, loader, optimizer, args):
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=True, profile_memory=True) as prof:  # want: leak/profiler
        for epoch in range(args.epochs):
            for batch in loader:
                loss = model(batch["input_ids"].cuda(), labels=batch["labels"].cuda()).loss
                loss.backward()
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)
    prof.export_chrome_trace("trace.json")
