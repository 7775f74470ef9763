package message

import (
	"fmt"
	"strings"
	"testing"
)

// trainingLog is a log as runs write it: steps, a progress bar, now and then memory,
// and an error at the end.
func trainingLog(sizeBytes int) string {
	var b strings.Builder
	for i := 0; b.Len() < sizeBytes; i++ {
		fmt.Fprintf(&b, "2026-03-01 10:%02d:%02d,123 [rank%d] INFO trainer.py:118 step %d | loss %.4f | lr 1.0e-4 | grad_norm 0.83 | tokens/s 41210 | mfu 0.41\n", i/60%60, i%60, i%8, i, 2.31)
		if i%20 == 0 {
			fmt.Fprintf(&b, "[rank%d]: max memory allocated %.2f GiB, reserved %.2f GiB, retries 0\n", i%8, 61.2, 70.1)
		}
		if i%50 == 0 {
			b.WriteString("Epoch 3:  41%|####      | 410/1000 [02:11<03:08,  3.13it/s, loss=0.41]\r")
		}
	}
	b.WriteString(shortOOM + "\n")
	return b.String()
}

// BenchmarkQuiet reads a log in which little is of interest. Budget: 500 MB/s on one
// core of 2020 or newer, so that 1 GB takes two seconds.
func BenchmarkQuiet(b *testing.B) {
	benchmark(b, trainingLog(32<<20), 1)
}

// BenchmarkBusy reads messages and tracebacks without pause. Budget: 5 MB/s, which
// no real log comes near: each message costs about 60 µs.
func BenchmarkBusy(b *testing.B) {
	var t strings.Builder
	for i := 0; t.Len() < 4<<20; i++ {
		fmt.Fprintf(&t, "[rank%d]: Traceback (most recent call last):\n[rank%d]:   File \"/home/ml/train.py\", line 91, in <module>\n[rank%d]:     step(batch)\n", i%8, i%8, i%8)
		fmt.Fprintf(&t, "[rank%d]: %s\n", i%8, strings.Replace(shortOOM, "20.00 MiB", fmt.Sprintf("%d.00 MiB", 2*(i%400)+2), 1))
	}
	benchmark(b, t.String(), 1)
}

// BenchmarkFalseAlarms reads lines that have a word and mean nothing. Budget: 10 MB/s.
func BenchmarkFalseAlarms(b *testing.B) {
	benchmark(b, strings.Repeat("worker 12 finished with exit code 0 after 12.5 s; shared memory in use: 12 MiB of 64 MiB\n", 40000), 0)
}

func benchmark(b *testing.B, text string, atLeast int) {
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		rep, err := Parse(strings.NewReader(text), Options{})
		if err != nil || len(rep.OOMs) < atLeast {
			b.Fatalf("%d messages: %v", len(rep.OOMs), err)
		}
	}
}
