package tui

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ullage-dev/ullage/internal/client"
	"github.com/ullage-dev/ullage/internal/gpu"
	"github.com/ullage-dev/ullage/internal/term"
)

// TestStacked: a bar is as wide as was asked, its parts end where they belong, and one
// that always shows does.
func TestStacked(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(1, 200).Draw(t, "width")
		amounts := rapid.SliceOfN(rapid.Int64Range(0, 1<<40), 3, 3).Draw(t, "parts")
		free := rapid.Int64Range(0, 1<<40).Draw(t, "free")
		whole := free
		parts := []part{{glyph: "a", always: true}, {glyph: "b"}, {glyph: "c"}}
		for i := range parts {
			parts[i].bytes = amounts[i]
			whole += amounts[i]
		}
		text := ""
		for _, s := range stacked(plainLook, width, whole, parts...) {
			text += s.text
		}
		if len(text) != width {
			t.Fatalf("%q is not %d columns", text, width)
		}
		if len(strings.Trim(text, "abc ")) > 0 || !inOrder(text, "abc ") {
			t.Errorf("%q", text)
		}
		for _, p := range parts {
			got := strings.Count(text, p.glyph)
			exact := float64(p.bytes) / float64(max(whole, 1)) * float64(width)
			if off := float64(got) - exact; off > 2 || off < -2 { // the column that a small part is given, and rounding
				t.Errorf("%q: %d columns for %.1f", text, got, exact)
			}
			if p.always && p.bytes > 0 && got == 0 {
				t.Errorf("%q: a part of %d bytes of %d does not show", text, p.bytes, whole)
			}
		}
	})
}

func inOrder(text, order string) bool {
	at := 0
	for _, r := range text {
		i := strings.IndexRune(order, r)
		if i < at {
			return false
		}
		at = i
	}
	return true
}

func TestSpark(t *testing.T) {
	ascii := term.Look{}
	for _, tt := range []struct {
		look term.Look
		used []int64
		want string
	}{
		{plainLook, nil, "        "},
		{plainLook, []int64{5, 5}, "      ▄▄"},
		{plainLook, []int64{1000, 1001, 1000}, "     ▄▄▄"},
		{plainLook, []int64{0, 10, 20, 30, 40, 50, 60, 70}, "▁▂▃▄▅▆▇█"},
		{plainLook, []int64{9, 9, 0, 10, 20, 30, 40, 50, 60, 70}, "▁▂▃▄▅▆▇█"},
		{ascii, []int64{0, 70}, "      .@"},
	} {
		if got := spark(tt.look, samplesOf(tt.used...), 8); got != tt.want {
			t.Errorf("spark(%v) = %q, want %q", tt.used, got, tt.want)
		}
	}
}

func samplesOf(used ...int64) []sample {
	var samples []sample
	for _, n := range used {
		samples = append(samples, sample{used: n})
	}
	return samples
}

func TestPlot(t *testing.T) {
	torch := []sample{{used: 100, reserved: 75, allocated: 25}, {used: 50, reserved: 50, allocated: 50}, {used: 10, reserved: 10}}
	for _, tt := range []struct {
		look    term.Look
		samples []sample
		want    []string
	}{
		{plainLook, samplesOf(0, 25, 50, 75, 100), []string{"    ▄█", "  ▄███"}},
		{plainLook, torch, []string{"   ▒  ", "   ▓  ", "   ▓█ ", "   ██ "}},
		{term.Look{}, torch, []string{"   +  ", "   =  ", "   =# ", "   ## "}},
	} {
		var got []string
		for _, line := range plot(tt.look, tt.samples, 100, 6, len(tt.want)) {
			text := ""
			for _, s := range line {
				text += s.text
			}
			got = append(got, text)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("plot (-want +got):\n%s", diff)
		}
	}
}

// TestHistory: the past is bounded, and what has ended is forgotten.
func TestHistory(t *testing.T) {
	h := histories{}
	at := time.Unix(0, 0)
	for i := range keptSamples + 50 {
		used := int64(i)
		mo := Moment{State: client.State{Reading: gpu.Reading{Time: at.Add(time.Duration(i) * time.Second), Processes: []gpu.Process{{PID: 1, UsedBytes: &used}, {PID: 2}}}}}
		h.add(&mo, mo.rows())
	}
	key := keyOf(gpu.Process{PID: 1})
	if len(h) != 1 || len(h[key]) != keptSamples || h.growth(key) != keptSamples-1 || h[key][0].used != 50 {
		t.Errorf("%d histories, %d samples, growth %d", len(h), len(h[key]), h.growth(key))
	}
	h.add(&Moment{}, nil)
	if len(h) != 0 {
		t.Errorf("%d histories of what has ended", len(h))
	}
}
