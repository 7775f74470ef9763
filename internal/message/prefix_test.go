package message

import "testing"

func TestStripPrefix(t *testing.T) {
	for _, c := range []struct {
		line, text, label string
		rank, pid         int
		host, time        string
	}{
		{"[rank3]: hello", "hello", "rank3", 3, 0, "", ""},
		{"[rank3]:   File \"x\"", "  File \"x\"", "rank3", 3, 0, "", ""},
		{"[Rank 12] hello", "hello", "Rank 12", 12, 0, "", ""},
		{"[default0]:hello", "hello", "default0", 0, 0, "", ""},
		{"[1,5]<stderr>:hello", "hello", "1,5", 5, 0, "", ""},
		{"[4]: hello", "hello", "4", 4, 0, "", ""},
		{"[4] 123 killed", "[4] 123 killed", "", -1, 0, "", ""},
		{"7: hello", "hello", "7", 7, 0, "", ""},
		{" 7: hello", "hello", "7", 7, 0, "", ""},
		{"12:30: noon", "noon", "", -1, 0, "", "12:30"},
		{"(RayTrainWorker pid=123, ip=10.0.0.1) hello", "hello", "RayTrainWorker pid=123, ip=10.0.0.1", -1, 123, "10.0.0.1", ""},
		{"(pid=9) hello", "hello", "pid=9", -1, 9, "", ""},
		{"(base) user@host", "(base) user@host", "", -1, 0, "", ""},
		{"VllmWorker rank=1 pid=254) hello", "hello", "VllmWorker rank=1 pid=254", 1, 254, "", ""},
		{"(EngineCore pid=79) ERROR 07-29 21:48:54 [core.py:718] hello", "hello", "EngineCore pid=79", -1, 79, "", "07-29 21:48:54"},
		{"[rank0]:[W701 02:36:19.144600040 ProcessGroupNCCL.cpp:1575] hello", "hello", "rank0", 0, 0, "", ""},
		{"E0325 20:57:27.620000 2606 site-packages/torch/api.py:869] hello", "hello", "", -1, 0, "", "0325 20:57:27.620000"},
		{"2025-11-12T11:25:13.4961658Z hello", "hello", "", -1, 0, "", "2025-11-12T11:25:13.4961658Z"},
		{"2024-11-20 14:38:16,123 hello", "hello", "", -1, 0, "", "2024-11-20 14:38:16,123"},
		{"[2023-10-13 17:40:02,544] hello", "hello", "", -1, 0, "", "2023-10-13 17:40:02,544"},
		{"[ 7063.247407] hello", "hello", "", -1, 0, "", "7063.247407"},
		{"Mar  7 11:54:10 node4 kernel: [259563.476003] hello", "hello", "", -1, 0, "node4", "Mar 7 11:54:10"},
		{"192.168.1.51: hello", "hello", "192.168.1.51", -1, 0, "192.168.1.51", ""},
		{"trainer-1  | hello", "hello", "trainer-1", -1, 0, "", ""},
		{"ERROR:torch.distributed.elastic:hello", "hello", "", -1, 0, "", ""},
		{"Error out of memory", "Error out of memory", "", -1, 0, "", ""},
		{"RuntimeError: hello", "RuntimeError: hello", "", -1, 0, "", ""},
		{"[enforce fail at alloc_cpu.cpp:75] err", "[enforce fail at alloc_cpu.cpp:75] err", "", -1, 0, "", ""},
		{"", "", "", -1, 0, "", ""},
	} {
		p := stripPrefix([]byte(c.line))
		want := Source{Rank: c.rank, Label: c.label, PID: c.pid, Host: c.host}
		if string(p.text) != c.text || p.src != want || p.time != c.time {
			t.Errorf("%q: %q %+v %q, want %q %+v %q", c.line, p.text, p.src, p.time, c.text, want, c.time)
		}
	}
}

func TestStripANSI(t *testing.T) {
	for in, want := range map[string]string{
		"\x1b[1;31mred\x1b[0m":                 "red",
		"^[[31mred^[[0m":                       "red",
		`\x1b[31mred\x1b[0m`:                   "red",
		`\u001b[31mred\u001b[0m`:               "red",
		"[0;31mred[0m":                         "red",
		"\x1b]8;;http://x\x07link\x1b]8;;\x07": "link",
		"\x1b[2K\x1b[1Gline":                   "line",
		"x[1] [rank3]: y[0:5]":                 "x[1] [rank3]: y[0:5]",
		`C:\x1\u0\033`:                         `C:\x1\u0\033`,
		"\x1b":                                 "",
	} {
		if got := string(stripANSI([]byte(in))); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestParseFrame(t *testing.T) {
	for line, want := range map[string]Frame{
		`  File "/a/b.py", line 12, in f`:      {"/a/b.py", 12, "f"},
		`  File "D:\x\new.py", line 1, in <m>`: {`D:\x\new.py`, 1, "<m>"},
		`File ~/x.py:41, in Net.forward(self)`: {"~/x.py", 41, "Net.forward"},
		`Cell In[9], line 3`:                   {"Cell In[9]", 3, ""},
		`Input In [9], in f(x)`:                {"Input In [9]", 0, "f"},
		`│ /home/u/x.py:12 in step         │`:  {"/home/u/x.py", 12, "step"},
		`tests/x.py:12: in test_y`:             {"tests/x.py", 12, "test_y"},
		`/a/b.py in f(self, x)`:                {"/a/b.py", 0, "f"},
		`<ipython-input-5-ab> in <module>`:     {"<ipython-input-5-ab>", 0, "<module>"},
		`    for x in loader:`:                 {},
		`    return a in b.py`:                 {},
		`  File "cut`:                          {},
	} {
		got, ok := parseFrame(line)
		if got != want || ok != (want != Frame{}) {
			t.Errorf("%q: %+v %v, want %+v", line, got, ok, want)
		}
	}
}
