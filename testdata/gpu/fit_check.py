"""Holds `ullage fit` against training jobs of many models that nobody looked at while it was made.

usage: fit_check.py measure [SECONDS [COUNT]]      on a machine with a GPU: runs JOBS, or so many jobs of odd_model, a process each, several at once, and prints a JSON line for each
       fit_check.py compare FILE ULLAGE [TRACES]   without one: runs the same jobs through `ullage fit`, keeps the traces, and prints the errors
       fit_check.py job --model NAME …             one of them, an ordinary training script; --report FILE appends what the allocator counted

Models are torchvision's by name, timm's as timm:NAME, odd:SEED of odd_model, and transformers' of the configurations below; weights are random, nothing is downloaded.
"""
from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

# (what the job may take in GiB, its arguments); most telling first, for the time may end.
JOBS = """
 20 convnext_base 100 rmsprop   | 25 swin_t 300 adam | 14 densenet121 300 adam | 9 regnet_y_400mf 500 momentum | 12 gpt-neo-125m 20 adam | 18 t5-base 20 adam
 22 qwen3-0.6b 2 adamw 224 bf16 1024 | 14 swin_t 64 adamw 224 amp-bf16 | 20 convnext_base 64 adamw 224 amp-bf16
 9 resnet34 300 adam            | 12 timm:resnet50d 64 adamw 224 amp-bf16 | 12 roberta-base 20 adam | 12 vgg11 200 sgd | 12 efficientnet_b1 400 adamw
 9 densenet169 64 adamw 224 amp-bf16 | 20 convnext_small 200 sgd | 12 distilbert 30 adamw | 14 regnet_y_1_6gf 300 adam | 18 timm:seresnet50 300 adam
 8 timm:ghostnet_100 400 adamw  | 8 timm:mobilenetv4_conv_small 500 momentum | 12 pythia-160m 30 adamw | 20 vit_b_32 80 adamw 224 | 12 timm:deit_small_patch16_224 60 adam 224
 14 electra-base 16 adamw 224 amp-bf16 512 | 12 resnet34 64 adamw 224 amp-bf16 | 30 vgg13_bn 500 momentum | 12 mnasnet0_75 400 adamw | 14 timm:xception41 100 rmsprop
 20 bloom-small 20 adam | 14 wide_resnet101_2 100 rmsprop | 9 shufflenet_v2_x1_5 500 momentum | 9 squeezenet1_1 200 sgd | 14 regnet_x_3_2gf 64 adamw 224 amp-bf16
 14 qwen2-0.5b 4 adamw 224 amp-bf16 256 accumulate | 12 bart-base 20 adam | 12 timm:dla34 64 sgd 224 | 16 timm:hrnet_w18 64 adamw 224 amp-bf16 | 22 timm:convnextv2_tiny 200 sgd
 25 swin_s 40 sgd 224 | 14 timm:inception_v4 100 rmsprop | 16 mistral-small 8 adamw 224 bf16 512 checkpoint | 25 albert-base 40 momentum | 14 timm:repvgg_b0 300 adam
 16 timm:cspdarknet53 200 sgd | 16 timm:eca_nfnet_l0 100 rmsprop | 12 timm:mobilevit_s 64 adamw 224 amp-bf16 | 25 efficientnet_b2 64 adamw 224 fp32 | 14 deberta-v3-small 20 adam
 14 timm:mixer_b16_224 40 sgd 224 | 16 convnext_small 64 adamw 224 amp-bf16 | 14 resnext101_32x8d 100 adam | 12 mt5-small 10 sgd | 14 phi-small 16 adamw 224 bf16 512
 14 timm:swin_tiny_patch4_window7_224 64 adamw 224 amp-bf16 | 12 timm:edgenext_small 300 adam | 14 gptj-small 20 adam | 14 timm:regnetz_b16 200 sgd | 16 gemma-small 4 adamw 224 bf16 512 checkpoint
 16 falcon-small 10 sgd | 12 timm:efficientnet_lite0 500 momentum | 20 maxvit_t 20 adam 224 | 12 timm:levit_256 64 adamw 224 amp-bf16 | 14 timm:beit_base_patch16_224 20 rmsprop 224
 14 timm:res2net50_26w_4s 200 sgd | 14 timm:poolformer_s12 100 adam | 16 mamba-130m 4 adamw | 12 timm:rexnet_100 300 adam | 14 vit_l_16 20 rmsprop 224
"""


def jobs() -> list[tuple[int, list[str]]]:
    """Returns the jobs of JOBS: the GiB they may take, and their arguments."""
    out = []
    for words in (cell.split() for cell in JOBS.replace("\n", "|").split("|") if cell.strip()):
        room, model, batch, optimizer, *rest = words
        job = ["--model", model, "--batch", batch, "--optimizer", optimizer]
        for name, value in zip(("--image", "--precision", "--tokens"), rest):
            job += [name, value]
        job += {"accumulate": ["--accumulate", "4"], "checkpoint": ["--checkpoint"]}.get(rest[-1] if rest else "", [])
        out.append((int(room), job))
    return out


# ---- one job


def text_model(name):
    """Builds a model of transformers with random weights."""
    import transformers as t

    decoder = {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 2048, "num_key_value_heads": 4}
    makers = {
        "roberta-base": lambda: t.RobertaForMaskedLM(t.RobertaConfig(vocab_size=50265, max_position_embeddings=514)),
        "distilbert": lambda: t.DistilBertForMaskedLM(t.DistilBertConfig()),
        "albert-base": lambda: t.AlbertForMaskedLM(t.AlbertConfig(hidden_size=768, num_attention_heads=12, intermediate_size=3072)),
        "electra-base": lambda: t.ElectraForMaskedLM(t.ElectraConfig(embedding_size=768, hidden_size=768, num_attention_heads=12, intermediate_size=3072)),
        "deberta-v3-small": lambda: t.DebertaV2ForMaskedLM(t.DebertaV2Config(hidden_size=768, num_hidden_layers=6, num_attention_heads=12, intermediate_size=3072, relative_attention=True, position_buckets=256, norm_rel_ebd="layer_norm", share_att_key=True, pos_att_type=["p2c", "c2p"], position_biased_input=False, type_vocab_size=0)),
        "bloom-small": lambda: t.BloomForCausalLM(t.BloomConfig(hidden_size=768, n_layer=12, n_head=12, vocab_size=50880)),
        "pythia-160m": lambda: t.GPTNeoXForCausalLM(t.GPTNeoXConfig(hidden_size=768, num_hidden_layers=12, num_attention_heads=12, intermediate_size=3072, vocab_size=50304)),
        "falcon-small": lambda: t.FalconForCausalLM(t.FalconConfig(hidden_size=768, num_hidden_layers=12, num_attention_heads=12)),
        "gptj-small": lambda: t.GPTJForCausalLM(t.GPTJConfig(n_embd=768, n_layer=12, n_head=12, n_positions=1024)),
        "mistral-small": lambda: t.MistralForCausalLM(t.MistralConfig(**decoder)),
        "phi-small": lambda: t.PhiForCausalLM(t.PhiConfig(**{**decoder, "num_key_value_heads": 12})),
        "qwen2-0.5b": lambda: t.Qwen2ForCausalLM(t.Qwen2Config(hidden_size=896, num_hidden_layers=24, num_attention_heads=14, num_key_value_heads=2, intermediate_size=4864, tie_word_embeddings=True)),
        "gemma-small": lambda: t.GemmaForCausalLM(t.GemmaConfig(**{**decoder, "head_dim": 64})),
        "bart-base": lambda: t.BartForConditionalGeneration(t.BartConfig(d_model=768, encoder_layers=6, decoder_layers=6, encoder_attention_heads=12, decoder_attention_heads=12, encoder_ffn_dim=3072, decoder_ffn_dim=3072)),
        "gpt-neo-125m": lambda: t.GPTNeoForCausalLM(t.GPTNeoConfig(hidden_size=768, num_layers=12, num_heads=12, attention_types=[[["global", "local"], 6]])),
        "t5-base": lambda: t.T5ForConditionalGeneration(t.T5Config(d_model=768, num_layers=12, num_heads=12, d_ff=3072, d_kv=64, decoder_start_token_id=0)),
        "qwen3-0.6b": lambda: t.Qwen3ForCausalLM(t.Qwen3Config(hidden_size=1024, intermediate_size=3072, num_hidden_layers=28, num_attention_heads=16, num_key_value_heads=8, head_dim=128, vocab_size=151936)),
        "mt5-small": lambda: t.MT5ForConditionalGeneration(t.MT5Config(decoder_start_token_id=0)),
        "mamba-130m": lambda: t.MambaForCausalLM(t.MambaConfig(hidden_size=768, num_hidden_layers=24)),
    }
    return makers[name]() if name in makers else None


def odd_model(seed):
    """Builds a network as a beginner or a researcher might: odd channels, dilations, large, even and oblong kernels, groups, in one to three dimensions."""
    import random

    from torch import nn

    rng = random.Random(seed)
    dims = rng.choice((1, 2, 2, 2, 2, 3))
    conv, norm = {1: (nn.Conv1d, nn.BatchNorm1d), 2: (nn.Conv2d, nn.BatchNorm2d), 3: (nn.Conv3d, nn.BatchNorm3d)}[dims]
    pool = {1: nn.AdaptiveAvgPool1d, 2: nn.AdaptiveAvgPool2d, 3: nn.AdaptiveAvgPool3d}[dims](1)

    class Unfold(nn.Module):
        """Makes a sound or a film of images."""

        def forward(self, x):
            n, c, h, w = x.shape
            return {1: lambda: x.flatten(2), 2: lambda: x, 3: lambda: x.reshape(n, c, 16, h // 4, w // 4)}[dims]()

    width, layers = 3, [Unfold()]
    for i in range(rng.randint(2, 7)):
        out = rng.choice((rng.randint(1, 130), rng.choice((8, 16, 17, 20, 24, 32, 33, 48, 50, 64, 96, 100, 128, 150))))
        kernel = [rng.choice((1, 2, 3, 3, 3, 4, 5, 5, 7, 7, 9, 11) if dims < 3 else (1, 3, 3, 5))] * dims
        if dims == 2 and rng.random() < 0.15:
            kernel[rng.randrange(2)] = 1
        dilation = rng.choice((1, 1, 1, 2, 2, 3, 4))
        groups = rng.choice((1,) * 6 + (width,))
        out = out if groups == 1 else width * rng.choice((1, 1, 2))
        stride = rng.choice((1, 1, 2)) if dilation == 1 else 1
        layers += [conv(width, out, tuple(kernel), stride, tuple(dilation * (k - 1) // 2 for k in kernel), dilation, groups, bias=rng.random() < 0.5)]
        layers += [norm(out), nn.ReLU()][rng.choice((0, 0, 1)):]
        width = out
    return nn.Sequential(*layers, pool, nn.Flatten(), nn.Linear(width, 1000))


def odd_jobs(count):
    """Returns jobs of odd_model."""
    import random

    out = []
    for seed in range(count):
        rng = random.Random(1000 + seed)
        out.append((12, ["--model", f"odd:{seed}", "--batch", str(rng.choice((1, 2, 3, 4, 8, 10, 16, 32))), "--optimizer", rng.choice(("sgd", "adam", "adamw")),
                         "--image", str(rng.choice((28, 32, 48, 64, 96, 100, 128, 160, 200, 224, 256, 320))), "--precision", rng.choice(("fp32", "fp32", "amp-bf16"))]))
    return out


def image_model(name):
    if name.startswith("odd:"):
        return odd_model(int(name[4:]))
    if name.startswith("timm:"):
        import timm

        return timm.create_model(name[5:])
    import torchvision

    return getattr(torchvision.models, name)()


def arguments(argv):
    p = argparse.ArgumentParser()
    p.add_argument("--model", required=True)
    p.add_argument("--batch", type=int, required=True)
    p.add_argument("--optimizer", default="adamw")
    p.add_argument("--image", type=int, default=86)
    p.add_argument("--tokens", type=int, default=128)
    p.add_argument("--precision", default="fp32", choices=["fp32", "amp-bf16", "bf16"])
    p.add_argument("--checkpoint", action="store_true")
    p.add_argument("--accumulate", type=int, default=1)
    p.add_argument("--report")
    return p.parse_args(argv)


def train(a):
    """Three steps of training."""
    import torch
    import torch.nn.functional as F

    torch.manual_seed(0)
    dtype = torch.bfloat16 if a.precision == "bf16" else None
    text = text_model(a.model)
    model = text if text is not None else image_model(a.model)
    if a.checkpoint:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    model = model.to("cuda", dtype=dtype).train()
    optimizers = {"sgd": torch.optim.SGD, "momentum": lambda ps, lr: torch.optim.SGD(ps, lr, momentum=0.9), "adam": torch.optim.Adam, "adamw": torch.optim.AdamW,
                  "rmsprop": torch.optim.RMSprop, "adagrad": torch.optim.Adagrad}
    optimizer = optimizers[a.optimizer](model.parameters(), 1e-4)
    for _ in range(3):
        for _ in range(a.accumulate):
            with torch.autocast("cuda", dtype=torch.bfloat16, enabled=a.precision == "amp-bf16"):
                if text is None:
                    images, labels = torch.randn(a.batch, 3, a.image, a.image).to("cuda", dtype=dtype), torch.randint(0, 1000, (a.batch,)).to("cuda")
                    loss = F.cross_entropy(model(images), labels)
                else:
                    ids = torch.randint(0, 30000, (a.batch, a.tokens)).to("cuda")
                    loss = model(input_ids=ids, labels=ids).loss
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    torch.cuda.synchronize()


def job(argv):
    """Trains, and returns what the allocator counted."""
    import torch

    a = arguments(argv)
    train(a)
    s = torch.cuda.memory_stats()
    row = {"job": argv, "peak_allocated": s["allocated_bytes.all.peak"], "peak_reserved": s["reserved_bytes.all.peak"], "retries": s["num_alloc_retries"], "torch": torch.__version__}
    if a.report:
        with open(a.report, "a") as f:
            f.write(json.dumps(row) + "\n")
    return row


# ---- all of them on a GPU


def measure_one(argv, to):
    """Runs in a process of its own."""
    try:
        import torch

        torch.set_num_threads(2)
        row = job(argv)
    except Exception as e:  # noqa: BLE001  (a job that can't run here says why)
        row = {"job": argv, "error": f"{type(e).__name__}: {e}"[:300]}
    to.send(row)
    to.close()


def probe(to):
    import torch

    to.send(torch.zeros(1, device="cuda").item() == 0)


def start(context, target, *args):
    """Starts target(*args, end of a pipe), and returns the process and the pipe's other end."""
    result, to = context.Pipe(duplex=False)
    process = context.Process(target=target, args=(*args, to))
    process.start()
    to.close()
    return process, result


def ways():
    """Returns how processes are started: forked after the imports, if CUDA works in them then, for that saves each some seconds."""
    os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"  # an import that asks for a GPU does not wake CUDA
    import timm  # noqa: F401
    import torchvision  # noqa: F401
    import transformers  # noqa: F401

    fork = multiprocessing.get_context("fork")
    process, result = start(fork, probe)
    process.join(60)
    return fork if process.exitcode == 0 and result.poll() else multiprocessing.get_context("spawn")


def measure(seconds, todo, room=115, at_once=10):
    """Runs jobs in order, as many at once as there are GiB for, and prints a line as each ends."""
    context = ways()
    end, waiting, running = time.monotonic() + seconds, list(todo), []
    while running or waiting and time.monotonic() < end:
        for entry in list(running):
            gib, argv, process, result = entry
            if result.poll() or not process.is_alive():
                try:
                    row = result.recv()
                except EOFError:
                    row = {"job": argv, "error": f"ended with {process.exitcode}"}
                process.join()
                running.remove(entry)
                print(json.dumps(row), flush=True)
        while waiting and time.monotonic() < end and len(running) < at_once and sum(r[0] for r in running) + waiting[0][0] <= room:
            gib, argv = waiting.pop(0)
            process, result = start(context, measure_one, argv)
            running.append((gib, argv, process, result))
        if time.monotonic() > end + 25:
            for _, argv, process, _ in running:
                process.kill()
                print(json.dumps({"job": argv, "error": "out of time"}), flush=True)
            return
        time.sleep(0.05)


# ---- the same without one


def predict(ullage, argv, traces):
    """Returns what `ullage fit` says of a job, from its trace where that was kept."""
    name = "-".join(w.lstrip("-").replace(":", "_") for w in argv if w not in ("--model", "--batch", "--optimizer"))
    trace = os.path.join(traces, name + ".jsonl.gz")
    if not os.path.exists(trace):
        made = subprocess.run([ullage, "fit", "--json", "--out", trace, "--", sys.executable, os.path.abspath(__file__), "job", *argv], capture_output=True, text=True)
        if made.returncode:
            if os.path.exists(trace):
                os.remove(trace)
            return None, (made.stdout + made.stderr)[-600:]
    done = subprocess.run([ullage, "fit", "--json", "--trace", trace], capture_output=True, text=True)
    return (json.loads(done.stdout), "") if done.returncode == 0 else (None, (done.stdout + done.stderr)[-600:])


def compare(path, ullage, traces=None):
    """Prints each job's errors in percent of what was measured, and the summary."""
    traces = traces or tempfile.mkdtemp()
    os.makedirs(traces, exist_ok=True)
    errors, slack, exact = [], [], 0
    with open(path) as f:
        rows = [json.loads(line) for line in f if line.startswith("{")]
    for row in rows:
        label = " ".join(w for w in row["job"] if not w.startswith("--") or w in ("--checkpoint", "--accumulate"))
        if "error" in row:
            print(f"{label:60} not measured: {row['error'][:100]}")
            continue
        said, why = predict(ullage, row["job"], traces)
        if said is None:
            print(f"{label:60} not predicted: {why}")
            continue
        real = row["peak_reserved"]
        off, safe = said["peak_reserved_bytes"] / real - 1, said["safe_bytes"] / real - 1
        errors.append(abs(off))
        slack.append(safe)
        exact += said["peak_reserved_bytes"] == real
        print(f"{label:60} reserved {real >> 20:6d} MiB {off:+8.2%}  allocated {said['peak_allocated_bytes'] / row['peak_allocated'] - 1:+8.2%}  safe {safe:+8.2%}  "
              f"convolutions {said['convolutions_measured']} measured {said['convolutions_estimated']} estimated", flush=True)
    if errors:
        p90 = sorted(errors)[min(len(errors) - 1, int(0.9 * len(errors)))]
        print(f"{len(errors)} jobs: median error {statistics.median(errors):.2%}, 90th percentile {p90:.2%}, to the byte {exact}; "
              f"above the safe bound {sum(s < 0 for s in slack)}, median slack {statistics.median(slack):.2%}")


def main():
    warnings.filterwarnings("ignore")
    what, *rest = sys.argv[1:] or ["help"]
    if what == "job":
        print(json.dumps(job(rest)))
    elif what == "measure":
        measure(float(rest[0]) if rest else 85, odd_jobs(int(rest[1])) if rest[1:] else jobs())
    elif what == "compare":
        compare(*rest)
    else:
        raise SystemExit(__doc__)


if __name__ == "__main__":
    main()
