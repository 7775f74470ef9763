# after: oumi#334
from torch.profiler import profile, schedule, tensorboard_trace_handler


def main(loader, step):
    with profile(
        schedule=schedule(wait=1, warmup=1, active=3, repeat=1),
        on_trace_ready=tensorboard_trace_handler("log"),
        profile_memory=True,
    ) as prof:
        for batch in loader:
            step(batch)
            prof.step()
