"""Jobs of several ranks: what each strategy allocates on a rank, what collectives return, and which processes are traced."""
import json
import os
import subprocess
import sys
import tempfile
import textwrap
import unittest

import torch
from fitrun import H200, IS_OLD, environment, read_lines, said_in

from ullage._fit.config import Config, Device

torch.set_num_threads(1)
WORLD = 4
MIB = 1 << 20


class Job:
    """A program that was run once for each of some ranks of a job, in the folder of one run; or once as it is, with ranks None."""

    def __init__(self, program, ranks=(1,), config=None, command=None, name="program.py"):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as f:
                json.dump({"device": H200, "devices": WORLD, "steps": 100, "rank": list(ranks or ()), **(config or {})}, f)
            with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
                f.write(textwrap.dedent(program))
            self.out, self.err, self.status = "", "", []
            for rank in (None,) if command else ranks:
                done = subprocess.run(
                    command or [sys.executable, name], env=self._environ(folder, rank), cwd=folder, capture_output=True, text=True, timeout=600
                )
                self.status.append(done.returncode)
                self.out += done.stdout
                self.err += done.stderr
            self.files = sorted(os.listdir(folder))
            self.traces = [read_lines(os.path.join(folder, name)) for name in self.files if name.startswith("trace-")]

    def _environ(self, folder, rank):
        if rank is None:
            return environment(folder)
        return environment(folder, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(WORLD), MASTER_ADDR="127.0.0.1", MASTER_PORT="29500")

    def of_rank(self, rank):
        """The trace of the process that joined the job as this rank."""
        return next(t for t in self.traces if any(line["e"] == "group" and line["rank"] == rank for line in t))

    def ranks(self):
        """The ranks that left a trace, in order."""
        return sorted(line["rank"] for t in self.traces for line in t if line["e"] == "group")

    def said(self):
        """The program's lines of output that are JSON, as one dictionary."""
        return said_in(self.out)


def of(lines, kind):
    """The lines of one kind."""
    return [line for line in lines if line["e"] == kind]


BEGIN = """
    import json, os, torch, torch.distributed as dist
    from torch import nn
    rank = int(os.environ["RANK"])
    torch.cuda.set_device(rank)
    def say(**what): print(json.dumps(what), flush=True)
    def held(): return torch.cuda.memory_allocated()
"""

VALUES = (
    BEGIN
    + """
    dist.init_process_group("cuda:nccl,cpu:gloo")
    n = dist.get_world_size()
    t = torch.tensor([3, 4], device="cuda"); dist.all_reduce(t); say(sum=t.tolist())
    dist.all_reduce(t, op=dist.ReduceOp.MAX); say(max=t.tolist())
    t = torch.tensor(2.5, device="cuda"); dist.all_reduce(t, op=dist.ReduceOp.AVG); say(mean=t.item())
    lists = [torch.zeros(2, dtype=torch.long, device="cuda") for _ in range(n)]
    dist.all_gather(lists, torch.tensor([1, 2], device="cuda")); say(gathered=[t.tolist() for t in lists])
    whole = torch.empty(2 * n, dtype=torch.long, device="cuda")
    dist.all_gather_into_tensor(whole, torch.tensor([1, 2], device="cuda")); say(whole=whole.tolist())
    counts = torch.arange(n, device="cuda"); got = torch.empty_like(counts)
    dist.all_to_all_single(got, counts); say(exchanged=got.tolist())
    cpu = torch.tensor([7]); dist.all_reduce(cpu); say(cpu=cpu.item())
    objects = [None] * n; dist.all_gather_object(objects, {"r": rank}); say(objects=objects)
    names = [rank, "x"]; dist.broadcast_object_list(names, src=0); say(names=names)
    from torch.distributed._functional_collectives import all_gather_tensor, all_reduce
    say(functional=all_reduce(torch.tensor([5], device="cuda"), "sum", dist.group.WORLD).tolist())
    say(gathered_shape=list(all_gather_tensor(torch.ones(3, 2, device="cuda"), 0, dist.group.WORLD).shape))
    part = dist.new_group([0, 1]); dist.all_reduce(torch.ones(4, device="cuda"), group=part); say(part=dist.get_world_size(part))
    other = dist.new_group([2, 3]); say(other=other is dist.GroupMember.NON_GROUP_MEMBER)
    before = held()
    work = dist.all_gather_into_tensor(torch.empty(4 << 20, device="cuda"), torch.empty(1 << 20, device="cuda"), async_op=True)
    say(in_flight=held() - before); work.wait(); say(after_wait=held() - before); del work; say(after_all=held() - before)
    dist.barrier()
    say(backend=dist.get_backend(), device=torch.empty(1, device="cuda").cuda().device.index, moved=torch.ones(2).to("cuda").device.index)
    dist.destroy_process_group()
"""
)

STRATEGIES = (
    BEGIN
    + """
    dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
    class Block(nn.Module):
        def __init__(self):
            super().__init__(); self.up = nn.Linear(512, 2048, bias=False); self.down = nn.Linear(2048, 512, bias=False)
        def forward(self, x): return x + self.down(self.up(x).relu())
    def model(): return nn.Sequential(*[Block() for _ in range(4)])
    x = torch.randn(8, 512, device="cuda")

    base = held()
    ddp = nn.parallel.DistributedDataParallel(model().cuda(), device_ids=[rank]); say(ddp=held() - base)
    optimizer = torch.optim.SGD(ddp.parameters(), 0.1)
    for step in range(3):
        ddp(x).sum().backward(); optimizer.step(); optimizer.zero_grad(set_to_none=True)
        say(**{f"ddp_step{step}": held() - base})
    del ddp, optimizer

    from torch.distributed.fsdp import fully_shard
    base = held()
    with torch.device("meta"): sharded = model()
    for block in sharded: fully_shard(block)
    fully_shard(sharded); sharded.to_empty(device="cuda"); say(fsdp2=held() - base)
    seen = []
    sharded[2].register_forward_hook(lambda *_: seen.append(held() - base))
    sharded(x).sum().backward(); say(fsdp2_forward=seen[0], fsdp2_after=held() - base)
    optimizer = torch.optim.AdamW(sharded.parameters()); optimizer.step(); optimizer.zero_grad(); say(fsdp2_adam=held() - base)
    del sharded, optimizer, block

    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
    base = held()
    mesh = init_device_mesh("cuda", (2, 2), mesh_dim_names=("dp", "tp"))
    parallel = model().cuda()
    for block in parallel: parallelize_module(block, mesh["tp"], {"up": ColwiseParallel(), "down": RowwiseParallel()})
    say(tp=held() - base); parallel(x).sum().backward(); say(tp_after=held() - base)
    del parallel, block

    from torch.distributed.fsdp import FullyShardedDataParallel
    from torch.distributed.fsdp.wrap import ModuleWrapPolicy
    base = held()
    flat = FullyShardedDataParallel(model(), auto_wrap_policy=ModuleWrapPolicy({Block}), device_id=rank); say(fsdp1=held() - base)
    flat(x).sum().backward(); say(fsdp1_after=held() - base)
    del flat

    from torch.distributed.optim import ZeroRedundancyOptimizer
    base = held()
    plain = model().cuda()
    optimizer = ZeroRedundancyOptimizer(plain.parameters(), torch.optim.Adam)
    plain(x).sum().backward(); optimizer.step(); optimizer.zero_grad(); say(zero=held() - base)
"""
)

PIPELINE = """
    import os, torch, torch.distributed as dist
    from torch import nn
    from torch.distributed.pipelining import PipelineStage, ScheduleGPipe
    def run(rank, world):
        torch.cuda.set_device(rank)
        dist.init_process_group("nccl", init_method="tcp://127.0.0.1:29501", rank=rank, world_size=world)
        stage = PipelineStage(nn.Linear(64, 64).cuda(), rank, world, torch.device("cuda", rank))
        schedule = ScheduleGPipe(stage, n_microbatches=world, loss_fn=nn.functional.mse_loss)
        x = torch.randn(8, 64, device="cuda")
        for _ in range(2):
            schedule.step(*([x] if rank == 0 else []), **({"target": x} if rank == world - 1 else {}))
    if __name__ == "__main__":
        if "RANK" in os.environ:
            run(int(os.environ["RANK"]), 4)
        else:
            torch.multiprocessing.spawn(run, args=(4,), nprocs=4)
"""

SPAWN = """
    import torch, torch.distributed as dist
    def run(rank, world):
        dist.init_process_group("nccl", init_method="tcp://127.0.0.1:29501", rank=rank, world_size=world)
        torch.cuda.set_device(rank)
        t = torch.ones(1 << 20, device=rank); dist.all_reduce(t)
    if __name__ == "__main__":
        torch.multiprocessing.spawn(run, args=(torch.cuda.device_count(),), nprocs=torch.cuda.device_count())
"""

LAUNCHED = BEGIN + """
    dist.init_process_group("nccl"); dist.all_reduce(torch.ones(1 << 20, device="cuda"))
    say(**{f"rank{rank}": [dist.get_world_size(), torch.cuda.device_count(), os.environ["LOCAL_RANK"]]})
"""

JOINS_LATE = """
    import torch, torch.distributed as dist
    dist.init_process_group("nccl", init_method="tcp://127.0.0.1:29501?rank=2&world_size=4")
    print("went on")
"""


class Numbers(unittest.TestCase):
    def test_ranks_that_are_traced(self):
        def traced(world, *rank):
            return Config(folder="", device=Device(**H200), rank=rank).rank_numbers(world)

        self.assertEqual(traced(1), [0])
        self.assertEqual(traced(8), [0, 7])
        self.assertEqual(traced(8, 5, 2), [2, 5])
        self.assertEqual(traced(4, 3, 4, 9), [3])

    def test_environment_of_a_rank(self):
        if IS_OLD:
            return
        from ullage._fit.launch import environment

        env = environment(11, 16, 8)
        self.assertEqual([env[k] for k in ("RANK", "LOCAL_RANK", "GROUP_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE")], ["11", "3", "1", "16", "8"])

    def test_reductions_over_ranks_that_are_alike(self):
        if IS_OLD:
            return
        from ullage._fit.rules import reduced

        value = torch.tensor([2, 3])
        results = {op: reduced(value, op, 3).tolist() for op in ("SUM", "PRODUCT", "BXOR", "MAX", "AVG", "BAND")}
        self.assertEqual(results, {"SUM": [6, 9], "PRODUCT": [8, 27], "BXOR": [2, 3], "MAX": [2, 3], "AVG": [2, 3], "BAND": [2, 3]})


if not IS_OLD:

    class Values(unittest.TestCase):
        @classmethod
        def setUpClass(cls):
            cls.job = Job(VALUES)
            cls.said = cls.job.said()

        def test_runs_to_its_end(self):
            self.assertEqual((self.job.status, self.job.traces[0][-1]["reason"]), ([0], "ended"), self.job.err)

        def test_what_collectives_leave(self):
            expected = {
                "sum": [12, 16],
                "max": [12, 16],
                "mean": 2.5,
                "gathered": [[1, 2]] * 4,
                "whole": [1, 2] * 4,
                "exchanged": [1] * 4,
                "cpu": 28,
                "objects": [{"r": 1}] * 4,
                "names": [1, "x"],
                "functional": [20],
                "gathered_shape": [12, 2],
            }
            self.assertEqual({k: self.said.get(k) for k in expected}, expected)

        def test_groups(self):
            said = [self.said.get(k) for k in ("part", "other", "backend")]
            self.assertEqual(said, [2, True, "cuda:nccl,cpu:gloo"])
            self.assertEqual([(c["id"], c["ranks"]) for c in of(self.job.traces[0], "comm")], [(0, 4), (1, 2)])
            self.assertEqual({(c["id"], c["how"]) for c in of(self.job.traces[0], "talk")}, {(0, "rings"), (0, "send"), (0, "receive"), (1, "rings")})

        def test_cuda_is_the_current_gpu(self):
            self.assertEqual([self.said.get(k) for k in ("device", "moved")], [1, 1])

        def test_what_an_asynchronous_call_is_given_lives_until_the_wait(self):
            said = [self.said.get(k) for k in ("in_flight", "after_wait", "after_all")]
            self.assertEqual(said, [20 * MIB, 16 * MIB, 0])  # the handle holds the result

    class Strategies(unittest.TestCase):
        PARAMS = 4 * 2 * 512 * 2048 * 4  # bytes of the model's parameters: 32 MiB
        ACTIVATIONS = MIB  # more than what the tiny batch leaves

        @classmethod
        def setUpClass(cls):
            cls.job = Job(STRATEGIES)
            cls.said = cls.job.said()

        def near(self, what, expected):
            self.assertIn(what, self.said, self.job.err)
            self.assertLess(abs(self.said[what] - expected), self.ACTIVATIONS, (what, self.said[what], expected))

        def test_ddp_holds_parameters_and_buckets_and_in_the_second_step_the_first_ones(self):
            for what, times in (("ddp", 2), ("ddp_step0", 2), ("ddp_step1", 3), ("ddp_step2", 2)):
                self.near(what, times * self.PARAMS)
            self.assertEqual([line["n"] for line in of(self.job.traces[0], "held")], [self.PARAMS])

        def test_fsdp2_holds_shards(self):
            shards, unit = self.PARAMS // WORLD, self.PARAMS // 4
            self.near("fsdp2", shards)
            self.assertGreaterEqual(self.said["fsdp2_forward"], shards + unit)
            self.assertLess(self.said["fsdp2_forward"], shards + 3 * unit + self.ACTIVATIONS)
            self.near("fsdp2_after", 2 * shards)
            self.near("fsdp2_adam", 3 * shards)

        def test_fsdp2_gathers_on_streams_of_its_own(self):
            lines = self.job.traces[0]
            gathers = {s["id"] for s in of(lines, "sig") if s["op"].startswith(("c10d._allgather_base_", "c10d.allgather_into_tensor"))}
            streams = {op.get("s", 0) for op in of(lines, "op") if op["sig"] in gathers}
            self.assertTrue(streams and 0 not in streams, streams)

        def test_tensor_parallel_splits_weights(self):
            self.near("tp", self.PARAMS // 2)
            self.near("tp_after", self.PARAMS)

        def test_fsdp1_holds_flat_shards(self):
            self.near("fsdp1", self.PARAMS // WORLD)
            self.near("fsdp1_after", 2 * self.PARAMS // WORLD)

        def test_zero_splits_the_states(self):
            self.near("zero", self.PARAMS + 2 * self.PARAMS // WORLD)

        def test_all_memory_is_on_the_ranks_gpu(self):
            lines = self.job.of_rank(1)
            devices = {n[2] if len(n) > 2 else 0 for op in of(lines, "op") for n in op.get("new", ())}
            self.assertEqual(devices, {1})

    class Processes(unittest.TestCase):
        def test_a_rank_that_crashes_while_it_is_torn_down_did_not_fail(self):
            crash = "\n    if __name__ == '__mp_main__':\n        import atexit, os; atexit.register(os.abort)"  # the first of these runs last
            job = Job(crash + SPAWN, ranks=(0, 3), command=[sys.executable, "program.py"])
            self.assertEqual((job.status, job.ranks()), ([0], [0, 3]), job.err)

        def test_a_rank_that_crashes_before_ends_the_job(self):
            job = Job(SPAWN.replace("dist.all_reduce(t)", "os.abort()").replace("import torch", "import os, torch", 1), ranks=(0, 3), command=[sys.executable, "program.py"])
            self.assertEqual(job.status, [134], job.err)

        def test_stages_of_a_pipeline_tell_each_other_their_shapes(self):
            job = Job(PIPELINE, ranks=range(WORLD), command=[sys.executable, "program.py"])
            self.assertEqual((job.status, job.ranks()), ([0], list(range(WORLD))), job.err)

        def test_a_stage_whose_sender_was_not_traced_says_so(self):
            job = Job(PIPELINE, ranks=(2,))
            self.assertIn("gets an object from rank 1", job.traces[0][-1]["message"])
            self.assertIn("--rank all", job.traces[0][-1]["message"])

        def test_spawn_starts_only_the_ranks_that_are_traced(self):
            job = Job(SPAWN, ranks=(0, 3), command=[sys.executable, "program.py"])
            self.assertEqual((job.status, job.ranks()), ([0], [0, 3]), job.err)
            self.assertIn("launched", job.files)
            self.assertEqual({n[2] for op in of(job.of_rank(3), "op") for n in op.get("new", ())}, {3})

        def test_torchrun_starts_only_the_ranks_that_are_traced(self):
            command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "3", "program.py"]
            job = Job(LAUNCHED, ranks=(), command=command, config={"devices": 1})
            self.assertEqual((job.status, job.ranks()), ([0], [0, 2]), job.err)
            self.assertEqual(job.said(), {"rank0": [3, 3, "0"], "rank2": [3, 3, "2"]})

        def test_a_rank_that_is_not_asked_for_leaves_nothing(self):
            job = Job(JOINS_LATE, ranks=(0,), command=[sys.executable, "program.py"])
            self.assertEqual((job.status, job.out, job.traces), ([0], "", []), job.err)

        def test_without_a_rank_the_error_says_what_to_do(self):
            job = Job("import torch.distributed as dist\ndist.init_process_group('nccl')\n", command=[sys.executable, "program.py"])
            self.assertIn("--ranks", job.traces[0][-1]["message"])


if __name__ == "__main__":
    unittest.main()
