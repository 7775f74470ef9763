package message

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// torchMessage has the numbers of a message.
type torchMessage struct {
	gpu                                        int
	tried, capacity, free, own, alloc, unalloc int64
	allowed, private                           int64 // 0: not printed
	pids                                       []int
	used                                       []int64
}

// templates print a message as releases do.
var templates = []struct {
	form  Form
	print func(m *torchMessage) string
}{
	{FormCached, func(m *torchMessage) string {
		return fmt.Sprintf("CUDA out of memory. Tried to allocate %s (GPU %d; %s total capacity; %s already allocated; %s free; %s cached)",
			formatSize(m.tried), m.gpu, formatSize(m.capacity), formatSize(m.alloc), formatSize(m.free), formatSize(m.unalloc))
	}},
	{FormReserved, func(m *torchMessage) string {
		allowed := ""
		if m.allowed > 0 {
			allowed = formatSize(m.allowed) + " allowed; "
		}
		return fmt.Sprintf("CUDA out of memory. Tried to allocate %s (GPU %d; %s total capacity; %s already allocated; %s free; %s%s reserved in total by PyTorch)",
			formatSize(m.tried), m.gpu, formatSize(m.capacity), formatSize(m.alloc), formatSize(m.free), allowed, formatSize(m.alloc+m.unalloc))
	}},
	{FormSentence, func(m *torchMessage) string {
		var b strings.Builder
		fmt.Fprintf(&b, "CUDA out of memory. Tried to allocate %s. GPU %d has a total capacity of %s of which %s is free. ", formatSize(m.tried), m.gpu, formatSize(m.capacity), formatSize(m.free))
		for i, pid := range m.pids {
			fmt.Fprintf(&b, "Process %d has %s memory in use. ", pid, formatSize(m.used[i]))
		}
		fmt.Fprintf(&b, "Including non-PyTorch memory, this process has %s memory in use. ", formatSize(m.own))
		if m.allowed > 0 {
			b.WriteString(formatSize(m.allowed) + " allowed; ")
		}
		fmt.Fprintf(&b, "Of the allocated memory %s is allocated by PyTorch, ", formatSize(m.alloc))
		if m.private > 0 {
			fmt.Fprintf(&b, "with %s allocated in private pools (e.g., CUDA Graphs), ", formatSize(m.private))
		}
		fmt.Fprintf(&b, "and %s is reserved by PyTorch but unallocated.%s", formatSize(m.unalloc), hintC)
		return b.String()
	}},
}

func drawMessage(t *rapid.T) *torchMessage {
	size := rapid.Custom(func(t *rapid.T) int64 {
		return rapid.Int64Range(0, 1<<40).Draw(t, "size") >> rapid.IntRange(0, 39).Draw(t, "shift")
	})
	m := &torchMessage{
		gpu: rapid.IntRange(0, 15).Draw(t, "gpu"), tried: size.Draw(t, "tried"), capacity: size.Draw(t, "capacity"), free: size.Draw(t, "free"),
		own: size.Draw(t, "own"), alloc: size.Draw(t, "alloc"), unalloc: size.Draw(t, "unalloc"), allowed: size.Draw(t, "allowed"), private: size.Draw(t, "private"),
	}
	for range rapid.IntRange(0, 12).Draw(t, "processes") {
		m.pids = append(m.pids, rapid.IntRange(1, 1<<22).Draw(t, "pid"))
		m.used = append(m.used, size.Draw(t, "used"))
	}
	return m
}

// TestRoundTrip prints numbers by each release's template, wraps the text anywhere,
// and reads the numbers back.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawMessage(t)
		tpl := rapid.SampledFrom(templates).Draw(t, "template")
		text := tpl.print(m)
		if width := rapid.IntRange(minTerminal, 300).Draw(t, "width"); rapid.Bool().Draw(t, "wrap") {
			text = hardWrap(text, width, "", "")
		}
		rep, err := Parse(strings.NewReader(text), Options{})
		if err != nil || len(rep.OOMs) != 1 {
			t.Fatalf("%d messages in %q: %v", len(rep.OOMs), text, err)
		}
		o := rep.OOMs[0]
		if o.Form != tpl.form || o.GPU != m.gpu {
			t.Fatalf("form %s, GPU %d in %q", o.Form, o.GPU, text)
		}
		holds := func(name string, s Size, n int64) {
			if !s.Known() || n < s.Low || n > s.High {
				t.Fatalf("%s %d was read as %+v in %q", name, n, s, text)
			}
		}
		holds("tried", o.Tried, m.tried)
		holds("capacity", o.Capacity, m.capacity)
		holds("free", o.Free, m.free)
		holds("allocated", o.Allocated, m.alloc)
		if o.Form == FormReserved {
			holds("reserved", o.Reserved, m.alloc+m.unalloc)
		} else {
			holds("unallocated", o.Unallocated, m.unalloc)
		}
		if m.allowed > 0 && o.Form != FormCached {
			holds("allowed", o.Allowed, m.allowed)
		}
		if o.Form != FormSentence {
			return
		}
		holds("own", o.ThisProcess, m.own)
		if m.private > 0 {
			holds("private", o.PrivatePool, m.private)
		}
		if len(o.Others) != len(m.pids) {
			t.Fatalf("%d processes of %d in %q", len(o.Others), len(m.pids), text)
		}
		for i, p := range o.Others {
			if p.PID != m.pids[i] {
				t.Fatalf("process %d, want %d", p.PID, m.pids[i])
			}
			holds("used", p.Used, m.used[i])
		}
	})
}
