package pyscope

import (
	"context"
	"sync"
	"testing"

	"github.com/ullage-dev/ullage/internal/syntax"
)

var parser = sync.OnceValues(func() (*syntax.Parser, error) { return syntax.New(context.Background(), "") })

func module(t testing.TB, text string) *Module {
	t.Helper()
	p, err := parser()
	if err != nil {
		t.Fatal(err)
	}
	src, err := syntax.Read("a.py", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	tree, err := p.Parse(context.Background(), src)
	if err != nil {
		t.Fatal(err)
	}
	return New(tree)
}

// call returns the first call whose function is written so.
func call(t testing.TB, m *Module, callee string) *Call {
	t.Helper()
	for _, c := range m.Calls {
		if c.Callee.Text() == callee {
			return c
		}
	}
	t.Fatalf("no call of %s", callee)
	return nil
}

func TestQualified(t *testing.T) {
	tests := []struct{ text, want string }{
		{"import torch\ntorch.load()", "torch.load"},
		{"import torch.nn.functional as F\nF.relu()", "torch.nn.functional.relu"},
		{"from torch import nn as n\nn.Linear()", "torch.nn.Linear"},
		{"import torch\nF = torch.nn.functional\ndef f():\n  F.relu()", "torch.nn.functional.relu"},
		{"import os.path\nos.path.join()", "os.path.join"},
		{"from . import utils\nutils.load()", ".utils.load"},
		{"from .a.b import load\nload()", ".a.b.load"},
		{"try:\n  from x import f\nexcept ImportError:\n  f = None\nf()", "x.f"},
		{"def g(): pass\ng()", ".g"},
		{"class A:\n  def g(self): self.h()\n  def h(self): pass", ".A.h"},
		{"len()", "len"},
		{"def f(torch):\n  torch.load()", ""},
		{"from torch.nn.modules.loss import MSELoss as M\nM()", "torch.nn.MSELoss"},
		{"from utils import *\nnn.Linear()", "torch.nn.Linear"},
		{"import torch\nx = torch if a else None\nx.load()", ""},
		{"x = y\ny = x\nx.f()", ""},
		{"import torch\nclass A:\n  def __init__(self):\n    self.load = torch.load\n  def f(self):\n    self.load()", "torch.load"},
	}
	for _, test := range tests {
		m := module(t, test.text)
		if c := m.Calls[len(m.Calls)-1]; c.Name != test.want && m.Calls[0].Name != test.want {
			t.Errorf("%q: %q, want %q", test.text, c.Name, test.want)
		}
	}
}

func TestGrad(t *testing.T) {
	tests := []struct {
		name, text string
		want       Mode
	}{
		{"plain", "def f():\n  model(x)", GradOn},
		{"with", "with torch.no_grad():\n  model(x)", GradOff},
		{"with and others", "with a, torch.inference_mode():\n  model(x)", GradOff},
		{"enabled again", "with torch.no_grad():\n  with torch.enable_grad():\n    model(x)", GradOn},
		{"decorator", "@torch.no_grad()\ndef f():\n  model(x)", GradOff},
		{"decorator without a call", "@torch.no_grad\ndef f():\n  model(x)", GradOff},
		{"by phase", "with torch.set_grad_enabled(phase == 'train'):\n  model(x)", GradUnknown},
		{"by a variable", "ctx = torch.no_grad() if a else nullcontext()\nwith ctx:\n  model(x)", GradUnknown},
		{"statement", "torch.set_grad_enabled(False)\ndef f():\n  model(x)", GradOff},
		{"statement in a branch", "if a:\n  torch.set_grad_enabled(False)\nmodel(x)", GradUnknown},
		{"caller", "def f():\n  model(x)\ndef g():\n  with torch.no_grad():\n    f()", GradOff},
		{"one caller of two", "def f():\n  model(x)\ndef g():\n  with torch.no_grad():\n    f()\nf()", GradUnknown},
		{"caller of a method", "class A:\n  def f(self):\n    model(x)\n  @torch.no_grad()\n  def g(self):\n    self.f()", GradOff},
		{"Lightning", "import lightning as L\nclass A(L.LightningModule):\n  def validation_step(self, b):\n    model(x)", GradOff},
		{"def within with", "with torch.no_grad():\n  def f():\n    model(x)", GradOn},
		{"recursion", "def f():\n  model(x)\n  f()", GradOn},
	}
	for _, test := range tests {
		m := module(t, "import torch\n"+test.text)
		if g := m.Grad(call(t, m, "model").Node); g.Mode != test.want {
			t.Errorf("%s: %v, want %v (%s)", test.name, g.Mode, test.want, g.Why)
		}
	}
}
