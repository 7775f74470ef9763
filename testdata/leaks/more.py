"""More loops, healthy and leaking, registered in workloads.W."""
import random, gc
import torch, torch.nn as nn, torch.nn.functional as F
from collections import deque
from workloads import W, workload, _small, _vision, _llama

def _xy(n=16, s=64):
    return torch.randn(n, 3, s, s, device="cuda"), torch.randint(0, 10, (n,), device="cuda")

@workload
def gan():
    g = nn.Sequential(nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 4096), nn.Tanh()).cuda()
    d = nn.Sequential(nn.Linear(4096, 512), nn.LeakyReLU(), nn.Linear(512, 1)).cuda()
    og, od = torch.optim.Adam(g.parameters(), 1e-4), torch.optim.Adam(d.parameters(), 1e-4)
    def step(i):
        n = 256
        for _ in range(2):
            real = torch.randn(n, 4096, device="cuda"); fake = g(torch.randn(n, 64, device="cuda")).detach()
            ld = F.softplus(-d(real)).mean() + F.softplus(d(fake)).mean()
            od.zero_grad(); ld.backward(); od.step()
        lg = F.softplus(-d(g(torch.randn(n, 64, device="cuda")))).mean()
        og.zero_grad(); lg.backward(); og.step()
    return step

@workload
def accum_eval():
    """Accumulates 4 micro batches; evaluates every 5 steps; running mean as a Python float."""
    m = _small(); o = torch.optim.AdamW(m.parameters()); state = dict(total=0.0, k=0)
    def step(i):
        for k in range(4):
            x, y = _xy(); loss = F.cross_entropy(m(x), y) / 4; loss.backward()
        o.step(); o.zero_grad(); state["total"] += loss.item()
        if i % 5 == 4:
            m.eval()
            with torch.no_grad():
                out = []
                for _ in range(3):
                    x, y = _xy(32); out.append(m(x).argmax(1))
                acc = torch.cat(out).float().mean().item()
            m.train()
    return step

@workload
def eval_loop():
    import torchvision
    m = torchvision.models.resnet18().cuda().eval(); r = random.Random(1)
    @torch.no_grad()
    def step(i):
        x = torch.randn(r.choice([8, 16, 24]), 3, 224, 224, device="cuda"); p = m(x).softmax(1).cpu()
    return step

@workload
def detection():
    import torchvision
    m = torchvision.models.detection.fasterrcnn_resnet50_fpn(weights=None, weights_backbone=None, num_classes=5).cuda().train()
    o = torch.optim.SGD(m.parameters(), 1e-5); r = random.Random(4)
    def step(i):
        xs = [torch.rand(3, r.randrange(300, 500), r.randrange(300, 500), device="cuda") for _ in range(2)]
        ts = [dict(boxes=torch.tensor([[10., 10., 100., 120.]] * r.randrange(1, 5), device="cuda"), labels=None) for _ in xs]
        for t in ts: t["labels"] = torch.ones(len(t["boxes"]), dtype=torch.long, device="cuda")
        loss = sum(m(xs, ts).values()); loss.backward(); o.step(); o.zero_grad()
    return step

@workload
def ema():
    import copy
    m = _small(); e = copy.deepcopy(m); o = torch.optim.SGD(m.parameters(), .1)
    def step(i):
        x, y = _xy(); F.cross_entropy(m(x), y).backward(); o.step(); o.zero_grad()
        with torch.no_grad():
            for p, q in zip(e.parameters(), m.parameters()): p.lerp_(q, .01)
    return step

@workload
def gc_cycles():
    """Reference cycles with the collector on: freed in bursts."""
    m = _small(); o = torch.optim.SGD(m.parameters(), 0.1)
    class Node: pass
    def step(i):
        x, y = _xy()
        a, b = Node(), Node(); a.peer, b.peer = b, a; a.feat = m[0](x)
        F.cross_entropy(m(x), y).backward(); o.step(); o.zero_grad()
        if i % 15 == 14: gc.collect()
    return step

@workload
def gc_auto():
    m = _small(); o = torch.optim.SGD(m.parameters(), 0.1)
    class Node: pass
    def step(i):
        x, y = _xy()
        junk = [Node() for _ in range(40)]
        for a in junk: a.me = a
        a.feat = m[0](x)
        F.cross_entropy(m(x), y).backward(); o.step(); o.zero_grad()
    return step

@workload
def profiler():
    m = _small(); o = torch.optim.Adam(m.parameters())
    p = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], schedule=torch.profiler.schedule(wait=0, warmup=0, active=1000)); p.start()
    def step(i):
        x, y = _xy(); F.cross_entropy(m(x), y).backward(); o.step(); o.zero_grad(); p.step()
    return step

@workload
def benchmark_mode():
    torch.backends.cudnn.benchmark = True
    return _vision("resnet18", 16)

@workload
def rnn_tbptt():
    m = nn.LSTM(128, 256, batch_first=True).cuda(); h = nn.Linear(256, 10).cuda(); o = torch.optim.Adam([*m.parameters(), *h.parameters()]); s = {"h": None}
    def step(i):
        out, st = m(torch.randn(16, 32, 128, device="cuda"), s["h"]); s["h"] = tuple(t.detach() for t in st)
        h(out).square().mean().backward(); o.step(); o.zero_grad()
    return step

@workload
def warm_caches():
    """Caches by shape, bounded: eight shapes, met at random."""
    m = _small(); o = torch.optim.SGD(m.parameters(), .1); cache = {}; r = random.Random(6)
    def pos(n):
        if n not in cache: cache[n] = torch.randn(n, 4096, device="cuda")
        return cache[n]
    def step(i):
        n = r.choice(range(8, 40, 4)); x, y = _xy(n); (F.cross_entropy(m(x), y) + pos(n).mean() * 0).backward(); o.step(); o.zero_grad()
    return step

@workload
def generate_small():
    from transformers import LlamaConfig, LlamaForCausalLM
    c = LlamaConfig(hidden_size=256, intermediate_size=512, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=4, vocab_size=1000)
    m = LlamaForCausalLM(c).cuda().eval(); r = random.Random(1)
    @torch.inference_mode()
    def step(i):
        x = torch.randint(0, 1000, (r.randrange(1, 4), r.randrange(8, 100)), device="cuda")
        m.generate(x, max_new_tokens=r.randrange(5, 25), do_sample=False, pad_token_id=0)
    return step

@workload
def one_long_generate():
    from transformers import LlamaConfig, LlamaForCausalLM
    c = LlamaConfig(hidden_size=256, intermediate_size=512, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=4, vocab_size=1000)
    m = LlamaForCausalLM(c).cuda().eval()
    @torch.inference_mode()
    def step(i):
        m.generate(torch.randint(0, 1000, (2, 50), device="cuda"), max_new_tokens=150, do_sample=False, pad_token_id=0)
    return step

@workload
def dqn():
    """Preallocated replay, target network, several updates a step."""
    q = nn.Sequential(nn.Linear(32, 256), nn.ReLU(), nn.Linear(256, 4)).cuda(); t = nn.Sequential(nn.Linear(32, 256), nn.ReLU(), nn.Linear(256, 4)).cuda()
    o = torch.optim.Adam(q.parameters()); buf = torch.zeros(10000, 32, device="cuda"); recent = deque(maxlen=100)
    def step(i):
        buf[i] = torch.randn(32, device="cuda"); recent.append(buf[i].clone())
        for _ in range(2):
            b = buf[torch.randint(0, 10000, (64,), device="cuda")]
            loss = (q(b).max(1).values - t(b).max(1).values.detach()).square().mean(); o.zero_grad(); loss.backward(); o.step()
        if i % 10 == 0: t.load_state_dict(q.state_dict())
    return step

# ---- leaks
@workload
def leak_slow():
    m = _small(); o = torch.optim.SGD(m.parameters(), .1); log = []
    def step(i):
        x, y = _xy(); loss = F.cross_entropy(m(x), y); loss.backward(); log.append(loss.detach()); o.step(); o.zero_grad()
    return step
@workload
def leak_log10():
    m = _small(); o = torch.optim.SGD(m.parameters(), .1); log = []
    def step(i):
        x, y = _xy(); out = m[0](x); F.cross_entropy(m(x), y).backward(); o.step(); o.zero_grad()
        if i % 10 == 9: log.append(out.detach().clone())
    return step
@workload
def leak_late():
    m = _small(); o = torch.optim.SGD(m.parameters(), .1); log = []
    def step(i):
        x, y = _xy(); loss = F.cross_entropy(m(x), y); loss.backward(); o.step(); o.zero_grad()
        if i >= 30: log.append(x)
    return step
@workload
def leak_eval_phase():
    m = _small(); o = torch.optim.SGD(m.parameters(), .1); preds = []
    def validate():
        for _ in range(3):
            x, y = _xy(); preds.append(m(x))
    def step(i):
        x, y = _xy(); F.cross_entropy(m(x), y).backward(); o.step(); o.zero_grad()
        if i % 5 == 4: validate()
    return step
@workload
def leak_varlen():
    from transformers import BertConfig, BertForSequenceClassification
    c = BertConfig(hidden_size=256, num_hidden_layers=4, num_attention_heads=4, intermediate_size=1024)
    m = BertForSequenceClassification(c).cuda().train(); o = torch.optim.AdamW(m.parameters()); r = random.Random(3); hist = []
    def step(i):
        b, s = r.randrange(4, 24), r.randrange(32, 512)
        x = torch.randint(0, c.vocab_size, (b, s), device="cuda"); y = torch.randint(0, 2, (b,), device="cuda")
        out = m(input_ids=x, labels=y, output_hidden_states=True); hist.append(out.hidden_states[-1].detach()[:, 0]); out.loss.backward(); o.step(); o.zero_grad()
    return step
@workload
def leak_kv_sessions():
    from transformers import LlamaConfig, LlamaForCausalLM
    c = LlamaConfig(hidden_size=256, intermediate_size=512, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=4, vocab_size=1000)
    m = LlamaForCausalLM(c).cuda().eval(); r = random.Random(1); sessions = {}
    @torch.inference_mode()
    def step(i):
        x = torch.randint(0, 1000, (1, r.randrange(8, 100)), device="cuda"); out = m(input_ids=x, use_cache=True); past = out.past_key_values
        for _ in range(r.randrange(5, 20)):
            out = m(input_ids=out.logits[:, -1:].argmax(-1), past_key_values=past, use_cache=True)
        sessions[i] = past
    return step
@workload
def leak_rnn_state():
    m = nn.LSTM(128, 256, batch_first=True).cuda(); h = nn.Linear(256, 10).cuda(); o = torch.optim.SGD([*m.parameters(), *h.parameters()], 0.0); s = {"h": None}
    def step(i):
        out, s["h"] = m(torch.randn(16, 32, 128, device="cuda"), s["h"]); h(out).square().mean()
    return step
@workload
def leak_exceptions():
    m = _small(); o = torch.optim.SGD(m.parameters(), .1); errs = []
    def work(x):
        a = m[0](x); raise ValueError("bad batch")
    def step(i):
        x, y = _xy(); F.cross_entropy(m(x), y).backward(); o.step(); o.zero_grad()
        try: work(x)
        except ValueError as e: errs.append(e)
    return step
@workload
def leak_shape_cache():
    m = _small(); o = torch.optim.SGD(m.parameters(), .1); cache = {}; r = random.Random(6)
    def step(i):
        n, s = r.randrange(8, 32), r.randrange(32, 96)
        if (n, s) not in cache: cache[n, s] = torch.randn(n, 3, s, s, device="cuda")
        x = cache[n, s] + 1; y = torch.randint(0, 10, (n,), device="cuda"); F.cross_entropy(m(x), y).backward(); o.step(); o.zero_grad()
    return step
@workload
def leak_metric_cat():
    m = _small(); o = torch.optim.SGD(m.parameters(), .1); st = {"p": None}
    def step(i):
        x, y = _xy(); out = m(x); F.cross_entropy(out, y).backward(); o.step(); o.zero_grad()
        st["p"] = out.detach() if st["p"] is None else torch.cat([st["p"], out.detach()])
    return step
@workload
def leak_resnet_loss():
    import torchvision
    m = torchvision.models.resnet18().cuda(); o = torch.optim.Adam(m.parameters()); total = {"l": 0}
    def training_step(x, y):
        loss = F.cross_entropy(m(x), y); total["l"] += loss; return loss
    def step(i):
        x = torch.randn(8, 3, 128, 128, device="cuda"); y = torch.randint(0, 10, (8,), device="cuda")
        training_step(x, y).backward(); o.step(); o.zero_grad()
    return step
@workload
def leak_grad_graph():
    """create_graph=True: the parameters' grads hold their graph, a cycle through the leaf."""
    m = _small(); o = torch.optim.SGD(m.parameters(), .1); keep = []
    def step(i):
        x, y = _xy(); loss = F.cross_entropy(m(x), y)
        g = torch.autograd.grad(loss, list(m.parameters()), create_graph=True); keep.append(sum(t.square().sum() for t in g))
        loss.backward(); o.step(); o.zero_grad()
    return step
