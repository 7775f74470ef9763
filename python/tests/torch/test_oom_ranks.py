"""Ranks that agree: real processes over gloo, of which some run out of memory.

Each test is a function of a rank that returns what it saw; run_all() starts the processes and gathers that. A deadlock would end in
the timeout of a rank, as an error.
"""
import json
import os
import subprocess
import sys
import tempfile
import types
import unittest

import torch
import torch.distributed as dist
import torch.nn.functional as F
from fakecuda import OutOfMemoryError

import ullage
from ullage._oom import gradients
from ullage._oom.ranks import Ranks

TIMEOUT_S = 60
DEADLINE_S = 240  # for all functions of a job


def oom_if(failing, text="CUDA out of memory."):
    if failing:
        raise OutOfMemoryError(text)


def outcome(call):
    try:
        return call()
    except Exception as err:
        return f"{type(err).__name__}: {err}"


class WithUnused(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last, self.unused = torch.nn.Linear(6, 8), torch.nn.Linear(8, 3), torch.nn.Linear(2, 2)

    def forward(self, x):
        return self.last(self.first(x).relu())


# --- what a rank does; each returns what it saw


def all_repeat_when_one_fails(rank):
    seen = []
    sizes = ullage.retry_on_oom(size=8, timeout_s=TIMEOUT_S)
    for attempt in sizes:
        with attempt:
            seen.append(attempt.size)
            oom_if(rank == 1 and attempt.size > 2)
    dist.barrier()
    return [seen, len(sizes.report.failures), sizes.report.succeeded]


def the_result_is_of_the_attempt_that_all_succeeded_in(rank):
    @ullage.retry_on_oom(size=8, timeout_s=TIMEOUT_S)
    def step(size):
        oom_if(rank == 1 and size > 4)
        return size * 10

    return step()


def one_gives_up(rank):
    def work():
        for attempt in ullage.retry_on_oom(size=4, floor=2, timeout_s=TIMEOUT_S):
            with attempt:
                oom_if(rank == 0)

    return outcome(work)


def one_has_another_error(rank):
    def work():
        for attempt in ullage.retry_on_oom(size=4, timeout_s=TIMEOUT_S):
            with attempt:
                if rank == 0:
                    raise KeyError("mine")
                oom_if(rank == 1)

    return outcome(work)


def shrink_fails(rank):
    def work():
        for attempt in ullage.retry_on_oom(size=4, shrink=lambda size: size // 0, timeout_s=TIMEOUT_S):
            with attempt:
                oom_if(rank == 0)

    return outcome(work)


def one_waits_in_a_collective(rank):
    """What an attempt must not contain: the rank that failed says so after its timeout, with its own error."""
    def work():
        for attempt in ullage.retry_on_oom(size=4, timeout_s=2):
            with attempt:
                oom_if(rank == 0)
                dist.all_reduce(torch.ones(1))

    text = outcome(work)
    return text.split(":")[0] if rank == 0 else "failed" if "Error" in text else text


def collectives_after_the_block_are_fine(rank):
    total = torch.zeros(1)
    for step in range(3):
        for attempt in ullage.retry_on_oom(size=4, timeout_s=TIMEOUT_S):
            with attempt:
                oom_if(attempt.size == 4 and rank == step % dist.get_world_size())
                mine = torch.full((1,), float(attempt.size))
        dist.all_reduce(mine)
        total += mine
    return total.item()


def a_smaller_batch_here_does_not_shrink_later_ones(rank):
    model = torch.nn.Linear(2, 1)

    def loss(piece):
        seen.append(len(piece))
        oom_if(rank == 0 and len(piece) > 16)
        return model(piece).mean()

    seen, run = [], ullage.microbatch(model, loss, timeout_s=TIMEOUT_S)
    run(torch.ones(32 if rank == 0 else 5, 2))
    run(torch.ones(32, 2))
    return [seen, run.size()]


def alone_without_agreement(rank):
    seen = []
    if rank == 0:
        for attempt in ullage.retry_on_oom(size=4, agree=False):
            with attempt:
                seen.append(attempt.size)
                oom_if(attempt.size > 2)
    return seen


def a_group_agrees_by_itself(rank):
    groups = [dist.new_group([0, 1]), dist.new_group([2])]
    seen = []
    for attempt in ullage.retry_on_oom(size=4, group=groups[rank // 2]):
        with attempt:
            seen.append(attempt.size)
            oom_if(rank == 1 and attempt.size > 2)
    return seen


def highest(rank):
    ranks = Ranks(timeout_s=TIMEOUT_S)
    return [ranks.count(), ranks.rank(), ranks.highest([rank, -rank, 7])]


def ddp_gradients(rank, overlap=False):
    """Gradients of DDP in one go, and of microbatch with one rank that runs out of memory (but not where overlap forbids it)."""
    torch.manual_seed(0)
    inner = WithUnused().double()
    model = torch.nn.parallel.DistributedDataParallel(inner, find_unused_parameters=True)
    generator = torch.Generator().manual_seed(rank)
    x, y = torch.randn(8, 6, generator=generator).double(), torch.randint(0, 3, (8,), generator=generator)

    def loss(piece):
        oom_if(not overlap and armed and rank == 0 and len(piece[0]) > 3)
        return F.cross_entropy(model(piece[0]), piece[1])

    armed = False
    loss((x, y)).backward()
    want = [p.grad.clone() if p.grad is not None else None for p in inner.parameters()]
    model.zero_grad()
    armed = True
    ullage.microbatch(model, loss, size=4 if overlap else None, overlap=overlap, timeout_s=TIMEOUT_S)((x, y))
    return [float((p.grad - w).abs().max()) < 1e-12 if w is not None else p.grad is None for p, w in zip(inner.parameters(), want)]


def ddp_gradients_overlapped(rank):
    return ddp_gradients(rank, overlap=True)


def ddp_with_buffers(rank):
    """DDP's forward pass begins with a broadcast: a rank that repeats it alone must not wait in it, and buffers are the first rank's."""
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2)))
    x = torch.randn(8, 2, generator=torch.Generator().manual_seed(rank))

    def loss(piece):
        out = model(piece)
        oom_if(rank == 1 and len(piece) > most)
        return out.square().mean()

    most, run = 4, ullage.microbatch(model, loss, timeout_s=TIMEOUT_S)
    run(x)
    with torch.no_grad():
        run(x)
    norm = model.module[1]
    mine = norm.running_mean.clone()
    gradients.share_buffers(model)
    means = [torch.zeros(2) for _ in range(dist.get_world_size())]
    dist.all_gather(means, norm.running_mean)
    return [torch.equal(*means), torch.equal(mine, means[0]), int(norm.num_batches_tracked), run.size(), run.size("eval")]


def ddp_within_no_sync(rank):
    """A program that accumulates over batches itself: nothing is averaged until its last one."""
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1, bias=False))
    with torch.no_grad():
        model.module.weight.fill_(0)
    run = ullage.microbatch(model, lambda piece: model(piece).sum(), reduction="sum", size=1, timeout_s=TIMEOUT_S)
    with model.no_sync():
        run(torch.full((2, 2), float(rank)))
    before = model.module.weight.grad[0, 0].item()
    run(torch.ones(2, 2))
    return [before, model.module.weight.grad[0, 0].item()]


def batch_size_of_the_neediest(rank):
    from oomcuda import OomCuda, need

    with OomCuda(total_bytes=(512 if rank == 0 else 256) << 10):
        found = ullage.find_batch_size(need, timeout_s=TIMEOUT_S, margin=0, tolerance=0)
    return [found.size, [t.size for t in found.trials], [t.fits for t in found.trials]]


def a_trial_fails_elsewhere(rank):
    from oomcuda import OomCuda, need

    def step(size):
        need(size)
        if rank == 1:
            raise KeyError("mine")

    with OomCuda(total_bytes=1 << 20):
        return outcome(lambda: ullage.find_batch_size(step, timeout_s=TIMEOUT_S))


def before_retry_fails(rank):
    def run():
        for attempt in ullage.retry_on_oom(size=8, before_retry=(lambda: 1 // 0) if rank == 0 else None, timeout_s=TIMEOUT_S):
            with attempt:
                oom_if(attempt.size > 4)

    return outcome(run)


# --- the tests


def main(names, rank, ranks, folder):
    """All functions named, one after the other, in one job: starting torch takes longer than they do."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", store=dist.FileStore(os.path.join(folder, "store"), ranks), rank=rank, world_size=ranks)
    results = {name: globals()[name](rank) for name in names.split(",")}
    print(json.dumps(results))
    sys.stdout.flush()
    os._exit(0)  # threads of a group that timed out would wait on


def run_all(functions, ranks):
    """What each rank's functions returned, by function and in the order of the ranks."""
    with tempfile.TemporaryDirectory() as folder:
        names = ",".join(f.__name__ for f in functions)
        started = [subprocess.Popen([sys.executable, "-W", "ignore", __file__, names, str(rank), str(ranks), folder],
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for rank in range(ranks)]
        try:
            ended = [process.communicate(timeout=DEADLINE_S) for process in started]
        except subprocess.TimeoutExpired:  # a rank waits for one that failed, which is the one to hear
            for process in started:
                process.kill()
            ended = [process.communicate() for process in started]
    failed = [f"rank {rank}:\n{ended[rank][1][-3000:]}" for rank, process in enumerate(started) if process.returncode != 0]
    if failed:
        raise AssertionError("\n".join(failed))
    results = [json.loads(out.splitlines()[-1]) for out, _ in ended]
    return {f.__name__: [result[f.__name__] for result in results] for f in functions}


class TwoRanks(unittest.TestCase):
    WANT = {
        all_repeat_when_one_fails: [[[8, 4, 2], 2, True]] * 2,
        the_result_is_of_the_attempt_that_all_succeeded_in: [40, 40],
        one_gives_up: ["OutOfMemoryError: CUDA out of memory.",
                       "RankError: this rank's attempt succeeded, but rank 0 gave up after running out of memory: its log has the error"],
        one_has_another_error: ["KeyError: 'mine'", "OutOfMemoryError: CUDA out of memory."],
        shrink_fails: ["ZeroDivisionError: integer division or modulo by zero",
                       "RankError: this rank's attempt succeeded, but rank 0 failed with an error that isn't a lack of memory: its log has the error"],
        before_retry_fails: ["ZeroDivisionError: integer division or modulo by zero",
                             "RankError: this rank's attempt succeeded, but rank 0 failed with an error that isn't a lack of memory: its log has the error"],
        collectives_after_the_block_are_fine: [4.0 * 3, 4.0 * 3],
        a_smaller_batch_here_does_not_shrink_later_ones: [[[32, 16, 16, 16, 16], 16], [[5, 5, 16, 16], 16]],
        alone_without_agreement: [[4, 2], []],
        highest: [[2, 0, [1, 0, 7]], [2, 1, [1, 0, 7]]],
        ddp_gradients: [[True] * 6] * 2,
        ddp_gradients_overlapped: [[True] * 6] * 2,
        ddp_with_buffers: [[True, True, 4, 4, 4], [True, False, 4, 4, 4]],
        ddp_within_no_sync: [[0.0, 3.0], [2.0, 3.0]],
        a_trial_fails_elsewhere: ["RankError: a trial of size 4 failed on another rank: its log has the error", "KeyError: 'mine'"],
    }

    def test_each(self):
        got = run_all(list(self.WANT), ranks=2)
        for function, want in self.WANT.items():
            with self.subTest(function.__name__):
                self.assertEqual(got[function.__name__], want)

    def test_a_rank_that_waits_in_a_collective_ends_with_an_error(self):
        got = run_all([one_waits_in_a_collective], ranks=2)
        self.assertEqual(got["one_waits_in_a_collective"], ["OutOfMemoryError", "failed"])


class Worlds(unittest.TestCase):
    def test_a_new_world_gets_a_group_of_its_own(self):
        made = []
        world = types.SimpleNamespace(group=types.SimpleNamespace(WORLD="one"), new_group=lambda **options: made.append(options) or len(made))
        ranks = Ranks(timeout_s=12.5)
        self.assertEqual([ranks._own_group(world), ranks._own_group(world)], [1, 1])
        world.group.WORLD = "two"
        self.assertEqual([ranks._own_group(world), Ranks(timeout_s=3)._own_group(world), ranks._own_group(world)], [2, 3, 2])
        self.assertEqual([(m["backend"], m["timeout"].total_seconds()) for m in made], [("gloo", 12.5), ("gloo", 12.5), ("gloo", 3)])


class ThreeRanks(unittest.TestCase):
    def test_each(self):
        got = run_all([all_repeat_when_one_fails, a_group_agrees_by_itself, batch_size_of_the_neediest], ranks=3)
        self.assertEqual(got["all_repeat_when_one_fails"], [[[8, 4, 2], 2, True]] * 3)
        self.assertEqual(got["a_group_agrees_by_itself"], [[4, 2], [4, 2], [4]])
        first = got["batch_size_of_the_neediest"][0]
        self.assertEqual(got["batch_size_of_the_neediest"], [first] * 3)
        self.assertEqual(first[0], 256)


if __name__ == "__main__":
    if len(sys.argv) == 5:
        main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
    unittest.main()
