package pyscope

import "testing"

func TestGrows(t *testing.T) {
	tests := []struct {
		name, text string
		where      Where
		grows      bool
	}{
		{"never reset", "def f():\n  global t\n  for x in xs:\n    t = t + 1\n    add(t)", Never, true},
		{"before", "t = 0\nfor x in xs:\n  add(t)", Before, true},
		{"for each epoch", "for e in es:\n  t = 0\n  for x in xs:\n    add(t)", Outer, true},
		{"each", "for x in xs:\n  t = 0\n  add(t)", Each, false},
		{"each, of an inner loop", "for x in xs:\n  t = 0\n  for k in range(3):\n    add(t)", Outer, false},
		{"now and then", "for x in xs:\n  add(t)\n  if x % 10:\n    t = 0", Sometimes, true},
		{"cleared", "t = []\nfor x in xs:\n  t.clear()\n  add(t)", Each, false},
		{"few iterations", "t = 0\nfor x in range(3):\n  add(t)", Before, false},
		{"made of itself", "t = 0\nfor x in xs:\n  t = t + 1\n  add(t)", Before, true},
		{"local of a function", "def f():\n  t = 0\n  add(t)\nfor x in xs:\n  f()", Before, false},
		{"of self", "class A:\n  def __init__(self):\n    self.t = 0\n  def f(self):\n    add(self.t)\na = A()\nfor x in xs:\n  a.f()", Before, true},
		{"of self, not called again", "class A:\n  def __init__(self):\n    self.t = 0\n  def f(self):\n    add(self.t)", Before, false},
		{"of self, called as a step", "class A:\n  def __init__(self):\n    self.t = 0\n  def train_step(self):\n    add(self.t)", Before, true},
		{"of self, reset by another", "class A:\n  def g(self):\n    self.t = 0\n  def train_step(self):\n    add(self.t)", Elsewhere, true},
		{"closure", "def outer():\n  t = []\n  def step(i):\n    add(t)\n  return step", Before, true},
		{"item", "acc = {'a': 0}\ndef step(i):\n  add(acc['a'])", Before, true},
		{"item of a new one", "def step(i):\n  acc = {}\n  for x in range(2):\n    add(acc['a'])", Before, false},
		{"attribute of an object", "class A:\n  def __init__(self):\n    self.t = 0\na = A()\nfor x in xs:\n  a.t = 0\n  add(a.t)", Each, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := module(t, test.text)
			n := call(t, m, "add").Args()[0]
			p := m.Place(n)
			if p == nil {
				t.Fatal("no place")
			}
			if where, _ := m.Reset(p, n); where != test.where {
				t.Errorf("starts anew %d, want %d", where, test.where)
			}
			if g := m.Grows(p, n); (g != nil) != test.grows {
				t.Errorf("grows: %v, want %v", g, test.grows)
			}
		})
	}
}

func TestFate(t *testing.T) {
	tests := []struct {
		name, text       string
		backward, leaves bool
	}{
		{"backward", "v = f()\nv.backward()", true, false},
		{"in a sum", "v = f()\nw = a + 2 * v\nw.backward()", true, false},
		{"in a list", "vs = []\nv = f()\nvs.append(v)\nsum(vs).backward()", true, false},
		{"in a list that is gone through", "vs = []\nv = f()\nvs.append(v)\nt = 0\nfor x in vs:\n  t = t + x\nt.backward()", true, false},
		{"number", "v = f()\nw = v.item()\nw.backward()", false, false},
		{"numbers of a list", "v = f()\nw = sum(x.item() for x in v)\nw.backward()", false, false},
		{"returned and backward", "def g():\n  v = f()\n  return v\ng().backward()", true, false},
		{"returned, assigned, backward", "def g():\n  v = f()\n  return v, 1\nx, y = g()\nx.backward()", true, false},
		{"returned to nobody", "def g():\n  v = f()\n  return v", false, true},
		{"returned as a number", "def g():\n  v = f()\n  return v.item()", false, false},
		{"printed", "v = f()\nprint(v)", false, false},
		{"given to another", "v = f()\ncallback(v)", false, true},
		{"as an argument", "def g(x):\n  x.backward()\nv = f()\ng(v)", true, false},
		{"dict of losses", "v = {}\nv['a'] = f()\nsum(v.values()).backward()", true, false},
		{"compared", "v = f()\nif v > 1:\n  w = 1\nw.backward()", false, false},
		{"stacked", "v = []\nloss = torch.stack(v).mean()\nloss.backward()", true, false},
		{"loss of it", "v = f()\nloss = crit(v, y)\nscaler.scale(loss).backward()", true, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := module(t, test.text)
			var p *Place
			for _, r := range m.Refs {
				if r.Node.Text() == "v" {
					p = r.Place
					break
				}
			}
			if got := m.Fate(p); len(got.Backward) > 0 != test.backward || got.Leaves.Ok() != test.leaves {
				t.Errorf("%s\nbackward %d times, leaves %q", test.text, len(got.Backward), got.Leaves.Text())
			}
		})
	}
}
