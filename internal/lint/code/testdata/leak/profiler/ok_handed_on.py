# A callback that profiles some steps: what it starts under one name, it stops under another.
import torch


class Profile:
    def __init__(self, first, last):
        self.first, self.last = first, last
        self.profiler = None

    def on_step_begin(self, state):
        if state.global_step == self.first:
            profiler = torch.profiler.profile(record_shapes=True, with_stack=True)
            profiler.__enter__()
            self.profiler = profiler

    def on_step_end(self, state):
        if state.global_step == self.last and self.profiler is not None:
            self.profiler.__exit__(None, None, None)
            self.profiler.export_chrome_trace("trace.json")
            self.profiler = None
