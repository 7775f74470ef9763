package pyscope

import (
	"strings"
	"testing"
)

func (v Value) what() string {
	var words []string
	for k, word := range []string{"plain", "tensor", "leaf", "graph", "module", "object", "unknown"} {
		if v.Has(1 << k) {
			words = append(words, word)
		}
	}
	if v.Sure {
		words = append(words, "sure")
	}
	return strings.Join(words, " ")
}

const valuePrelude = `
import torch, numpy as np
from torch import nn
import torch.nn.functional as F
model = nn.Linear(1, 1).cuda()
mse = nn.MSELoss()
`

func TestValue(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"number", "probe(1 + 2.0)", "plain"},
		{"result of a module", "probe(model(x))", "graph sure"},
		{"item", "probe(model(x).sum().item())", "plain"},
		{"detach", "probe(model(x).sum().detach().cpu())", "tensor"},
		{"float", "probe(float(model(x)))", "plain"},
		{"numpy", "probe(model(x).detach().cpu().numpy())", "plain"},
		{"loss", "probe(F.mse_loss(model(x), y))", "graph sure"},
		{"loss object", "probe(mse(model(x), y))", "graph sure"},
		{"loss of data", "x = torch.ones(1)\nprobe(mse(x, torch.zeros(1)))", "tensor"},
		{"no_grad", "with torch.no_grad():\n  probe(model(x))", "tensor"},
		{"moved into no_grad", "y = model(x)\nwith torch.no_grad():\n  probe(y)", "graph sure"},
		{"computed in no_grad", "y = model(x)\nwith torch.no_grad():\n  probe(y * 2)", "tensor"},
		{"sum", "total = 0\nfor x in xs:\n  total = total + model(x)\nprobe(total)", "plain graph sure"},
		{"sum with +=", "total = 0\nfor x in xs:\n  total += model(x)\nprobe(total)", "plain graph sure"},
		{"sum of numbers", "total = 0.0\nfor x in xs:\n  total += model(x).item()\nprobe(total)", "plain"},
		{"overwritten", "y = model(x)\ny = 1\nprobe(y)", "plain"},
		{"in a branch", "y = model(x)\nif a:\n  y = 1\nprobe(y)", "plain graph sure"},
		{"in both branches", "y = model(x)\nif a:\n  y = 1\nelse:\n  y = 2\nprobe(y)", "plain"},
		{"branch that raises", "y = model(x)\nif a:\n  y = 1\nelse:\n  raise E\nprobe(y)", "plain"},
		{"other branch", "if a:\n  y = model(x)\nelse:\n  y = 1\n  probe(y)", "plain"},
		{"next iteration", "y = 1\nwhile a:\n  probe(y)\n  y = model(x)", "plain graph sure"},
		{"next iteration, reset", "while a:\n  y = 1\n  probe(y)\n  y = model(x)", "plain"},
		{"returned", "def f(x):\n  return model(x)\nprobe(f(1))", "graph sure"},
		{"one of two returned", "def f(x):\n  return model(x).item(), model(x)\na, b = f(1)\nprobe(a)", "plain"},
		{"the other of two", "def f(x):\n  return model(x).item(), model(x)\na, b = f(1)\nprobe(b)", "graph sure"},
		{"under a key", "def f(x):\n  return {'a': model(x).item(), 'b': model(x)}\nr = f(1)\nprobe(r['a'])", "plain"},
		{"from the caller", "def f(v):\n  probe(v)\nf(model(x))", "graph sure"},
		{"from the caller, detached", "def f(v):\n  probe(v)\nf(model(x).detach())", "tensor"},
		{"no caller", "def f(v):\n  probe(v)", "unknown"},
		{"backward", "loss = strange(x)\nloss.backward()\nprobe(loss)", "graph sure"},
		{"backward of scaled", "loss = strange(x)\nscaler.scale(loss).backward()\nprobe(loss)", "graph sure"},
		{"accelerator", "loss = strange(x)\naccelerator.backward(loss)\nprobe(loss)", "graph sure"},
		{"in a list", "ys = []\nys.append(model(x))\nprobe(ys)", "plain graph sure"},
		{"detached in a list", "ys = []\nys.append(model(x).detach())\nprobe(ys)", "plain tensor"},
		{"concatenated list", "ys = [model(x)]\nprobe(torch.cat(ys))", "graph sure"},
		{"indices", "_, pred = model(x).max(1)\nprobe(pred)", "tensor"},
		{"indices of torch.max", "_, pred = torch.max(model(x), 1)\nprobe(pred)", "tensor"},
		{"correct", "pred = model(x).argmax(1)\nprobe((pred == y).sum())", "tensor"},
		{"own module", "class Net(nn.Module):\n  pass\nnet = Net()\nprobe(net(x))", "graph sure"},
		{"module of self", "class Net(nn.Module):\n  def __init__(self):\n    self.f = nn.Linear(1, 1)\n  def forward(self, x):\n    probe(self.f(x))", "graph sure"},
		{"module by use", "opt = torch.optim.SGD(m.parameters())\nm = build()\nprobe(m(x))", "graph sure"},
		{"module by name", "def f(net, x):\n  probe(net(x))", "graph"},
		{"module from the caller", "def f(m, x):\n  probe(m(x))\nf(model, 1)", "graph sure"},
		{"made by a function", "def make():\n  return nn.Sequential(a, b).cuda()\nm = make()\nprobe(m(x))", "graph sure"},
		{"step of a closure", "model = nn.Linear(3, 1)\ndef fit(x, opt):\n  for i in range(n):\n    def closure():\n      loss = model(x).mean()\n      loss.backward()\n      return loss\n    probe(opt.step(closure))", "graph sure"},
		{"closure", "def outer():\n  acc = {'loss': 0.0}\n  def step(i):\n    acc['loss'] = acc['loss'] + model(x)\n    probe(acc['loss'])\n  return step", "graph sure"},
		{"a part of the output", "probe(model(x).loss)", "graph sure"},
		{"shape", "probe(model(x).shape[0])", "plain"},
		{"parameter", "w = nn.Parameter(torch.ones(1))\nprobe(w)", "leaf"},
		{"of a parameter", "w = torch.ones(1, requires_grad=True)\nprobe(w * 2)", "graph sure"},
		{"loader", "for x, y in train_loader:\n  probe(x)", "tensor"},
		{"enumerate", "for i, x in enumerate(model(x)):\n  probe(i)", "plain"},
		{"walrus", "if (y := model(x)) is not None:\n  probe(y)", "graph sure"},
		{"frozen", "model.requires_grad_(False)\nprobe(model(torch.ones(1)))", "tensor"},
		{"frozen in a loop", "for p in model.parameters():\n  p.requires_grad = False\nprobe(model(torch.ones(1)))", "tensor"},
		{"some frozen", "for n, p in model.named_parameters():\n  if 'a' in n:\n    p.requires_grad = False\nprobe(model(torch.ones(1)))", "graph sure"},
		{"frozen, with a new head", "model.requires_grad_(False)\nmodel.fc = nn.Linear(1, 1)\nprobe(model(torch.ones(1)))", "graph sure"},
		{"detached if it is a tensor", "y = model(x)\nif isinstance(y, torch.Tensor):\n  y = y.detach()\nprobe(y)", "tensor"},
		{"detached in place", "y = model(x)\ny.detach_()\nprobe(y)", "tensor"},
		{"LSTM", "rnn = nn.LSTM(8, 8)\nh = c = None\nfor x in xs:\n  probe(h)\n  out, (h, c) = rnn(x, (h, c))", "plain graph sure"},
		{"GRU", "rnn = nn.GRU(8, 8)\nh = None\nfor x in xs:\n  probe(h)\n  out, h = rnn(x, h)", "plain graph sure"},
		{"left by the call before", "class A:\n  def __init__(self):\n    self.h = 0\n  def f(self):\n    probe(self.h)\n    self.h = model(x)", "plain graph sure"},
		{"count beside the result", "loss, n_samples = model(x)\nprobe(n_samples)", "unknown"},
		{"optimizer's groups", "opt = torch.optim.SGD([{'params': model}])\nprobe(opt.param_groups[0]['lr'])", "unknown"},
		{"names of parameters", "for name, p in model.named_parameters():\n  probe(name.replace('a', 'b'))", "plain"},
		{"gradient given to backward", "t.backward(w * g)\nw = f()\nprobe(w)", "unknown"},
		{"loss given to an engine", "loss = f()\nmodel_engine.backward(loss)\nprobe(loss)", "graph sure"},
		{"generator", "def g():\n  yield model(x), 1\nfor y, k in g():\n  probe(k)", "plain"},
		{"module of another file", "from nets import Net\nnet = Net().cuda()\nprobe(net(x))", "graph sure"},
		{"module of another file by use", "import nets\nnet = nets.Net()\nopt = torch.optim.SGD(net.parameters())\nprobe(net(x))", "graph sure"},
		{"object of another file", "from nets import Runner\nr = Runner()\nprobe(r.run(x))", "unknown"},
		{"softmax of what is not known", "def f(g):\n  probe(g(x).softmax(-1))", "graph sure"},
		{"loss of what is not known", "def f(g):\n  out = g(x)\n  probe(F.cross_entropy(out, y))", "graph"},
		{"loss of a parameter", "def f(out):\n  probe(F.cross_entropy(out, y))", "unknown"},
		{"made by a function of another file", "from nets import build_model\nm = build_model(cfg)\nprobe(m(x))", "graph"},
		{"made elsewhere, by use", "from nets import get_network\nm = get_network(cfg).cuda()\nm.eval()\nprobe(m(x))", "graph sure"},
		{"function about a model", "probe(train_model(x))", "unknown"},
		{"dict, an item of which backward is called on", "losses = f()\nlosses['total'].backward()\nprobe(losses[k])", "graph sure"},
		{"schedule-free optimizer", "opt = f()\nopt.train()\nopt.step()\nprobe(opt(x))", "unknown"},
		{"method of what only sounds like a model", "def f(sp_model):\n  probe(sp_model.vocab_size())", "unknown"},
		{"norm of gradients", "probe(torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0))", "tensor"},
		{"bytes", "probe(model(x).untyped_storage().nbytes())", "plain"},
		{"annotated", "class Net(nn.Module):\n  pass\ndef f(m: Net):\n  probe(m(x))", "graph sure"},
		{"called as a class of the file", "class Policy(nn.Module):\n  pass\ndef f(policy):\n  probe(policy(x))", "graph sure"},
		{"called as another class", "class Policy:\n  pass\ndef f(policy):\n  probe(policy.act(x))", "unknown"},
		{"circle", "x = y\ny = x\nprobe(x)", ""},
		{"function of another module", "probe(other.compute(model(x)))", "unknown"},
		{"time", "import time\nstart = time.time()\nprobe(time.time() - start)", "plain"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := module(t, valuePrelude+test.text)
			v := m.Value(call(t, m, "probe").Args()[0])
			if got := v.what(); got != test.want {
				t.Errorf("%s\n%s, want %s (%s)", test.text, got, test.want, v.Why)
			}
		})
	}
}
