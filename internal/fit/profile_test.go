package fit

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

const smallCard = `{
  "name": "x", "total_bytes": 1000000000, "major": 8, "minor": 0, "multiprocessors": 10,
  "context": {"base_bytes": 1},
  "calibration": {
    "torch": "2.11.0+cu130", "cuda": "13.0", "cudnn": 91900,
    "terms": [{"name": "attention", "origin": "computed", "calls": 3, "exact": 2, "times": 1.5}],
    "convolutions": {"compared": 3, "equal": 2, "rows": [
      "bf16 nchw 64 3 224 224 32 3 3 2 1 1 1 : 0 25690112 -"
    ]}
  }
}`

// TestParseProfileRefuses: a file that cannot be a card's says where and why.
func TestParseProfileRefuses(t *testing.T) {
	if _, err := ParseProfile([]byte(smallCard), "card.json"); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, old, with, want string }{
		{"empty", smallCard, "", "card.json:1: is empty"},
		{"list", smallCard, "[]", "card.json:1: is no card"},
		{"no JSON", `"context": {`, `"context": [`, "card.json:3: is no JSON"},
		{"breaks off", smallCard, smallCard[:200], "card.json:5: breaks off"},
		{"more", smallCard, smallCard + "\n{}", "card.json:12: has more"},
		{"newer", `{
  "name"`, `{
  "version": 2, "name"`, "card.json: is of version 2: this ullage reads version 1"},
		{"no name", `"name": "x"`, `"name": ""`, "card.json: name: is missing"},
		{"no memory", "1000000000", "0", "card.json: total_bytes: 0"},
		{"a word", "1000000000", `"1 GB"`, "card.json:2: total_bytes: expected a whole number, not string"},
		{"capability", `"major": 8`, `"major": 3`, "card.json: major: compute capability 3.0"},
		{"multiprocessors", `rs": 10`, `rs": -1`, "card.json: multiprocessors: -1"},
		{"context", `"base_bytes": 1`, `"nccl": {"rings_bytes": -1}`, "card.json: context.nccl.rings_bytes: -1"},
		{"context as large as the card", `"base_bytes": 1`, `"base_bytes": 1000000000`, "card.json: context.base_bytes"},
		{"times", `"times": 1.5`, `"times": -1`, "card.json: calibration.terms[0]"},
		{"more exact than calls", `"exact": 2`, `"exact": 4`, "card.json: calibration.terms[0]"},
		{"more equal than compared", `"equal": 2`, `"equal": 4`, "card.json: calibration.convolutions: 4 equal of 3"},
		{"row", "bf16 nchw", "fp8 nchw", "card.json:8: calibration.convolutions.rows[0]"},
		{"row without colon", " : ", " ", "card.json:8: calibration.convolutions.rows[0]"},
		{"row of no size", "bf16 nchw 64", "bf16 nchw 0", `"0" is no size`},
		{"row of groups", "1 1 1 :", "1 1 5 :", "do not divide"},
		{"row of no workspace", "25690112", "-5", `"-5" is no workspace`},
	} {
		text := strings.Replace(smallCard, tt.old, tt.with, 1)
		_, err := ParseProfile([]byte(text), "card.json")
		if err == nil || !strings.Contains(err.Error(), tt.want) || !errors.As(err, new(*ProfileError)) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// FuzzParseProfile: no file fails otherwise than by an error, and what is read can be written and
// read again.
func FuzzParseProfile(f *testing.F) {
	f.Add([]byte(smallCard))
	f.Add(profilesText)
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := ParseProfile(data, "fuzz")
		if err != nil {
			return
		}
		again, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ParseProfile(again, "again"); err != nil {
			t.Fatalf("%v: %s", err, again)
		}
		v := convShape{mode: convBF16, n: 2, c: 8, h: 8, w: 8, k: 8, r: 3, s: 3, stride: 1, pad: 1, dilation: 1, groups: 1}
		if own := p.Calibration; own != nil && own.Convolutions.table != nil {
			own.Convolutions.estimate(&v, convForward, &convTable{})
		}
	})
}

// TestConvRows: what is written of a convolution is what is read.
func TestConvRows(t *testing.T) {
	for _, row := range []string{
		"bf16 nchw 64 3 224 224 32 3 3 2 1 1 1 : 0 25690112 -",
		"tf32 nhwc 1 64 1 500 128 1 7 1 3 2 64 : - - 0",
		"f16 nchw 7 8 9 10 16 5 3 1 0 1 8 : 1 2 3",
		"f32 nchw 7 8 9 10 16 5 3 1 0 1 8 : 1 2 3",
	} {
		v, workspace, why := parseConv(row)
		if why != "" || formatConv(&v, workspace) != row {
			t.Errorf("%s: %s, %s", row, formatConv(&v, workspace), why)
		}
	}
}

// TestDiffers: releases are compared where both sides have them.
func TestDiffers(t *testing.T) {
	c := &Calibration{Torch: "2.11.0+cu130", CUDA: "13.0", CuDNN: 91900}
	for _, tt := range []struct {
		of   Meta
		want string
	}{
		{Meta{Torch: "2.11.0", CUDA: "13.0", CuDNN: 91900}, ""},
		{Meta{Torch: "2.11.0"}, ""},
		{Meta{Torch: "2.12.1"}, "torch 2.11.0, the program has 2.12.1"},
		{Meta{Torch: "2.11.0", CUDA: "12.8", CuDNN: 8907}, "CUDA 13.0, the program has 12.8; cuDNN 9.19.0, the program has 8.9.7"},
	} {
		if got := c.Differs(&tt.of); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.of, got, tt.want)
		}
	}
	if got := (*Calibration)(nil).Differs(&Meta{Torch: "2.1.0"}); got != "" {
		t.Errorf("a card that was not calibrated: %q", got)
	}
}

// TestCalibratedCardRaisesTheBound: how far a rule fell short on a card is in the safe bound of
// jobs that use the rule, and not in the best estimate.
func TestCalibratedCardRaisesTheBound(t *testing.T) {
	trace, usual := readFixture(t, "gpt2-b30-adamw"), mustProfile(t, "h200")
	predict := func(terms ...CalibratedTerm) *Prediction {
		card := *usual
		card.Calibration = &Calibration{Terms: terms}
		job, err := Compile(trace, &card, 0)
		if err != nil {
			t.Fatal(err)
		}
		p, err := Predict(job, Options{})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	plain := predict(CalibratedTerm{Name: "sorting", Times: 1}, CalibratedTerm{Name: "recurrent", UnseenBytes: 1 << 40})
	times := predict(CalibratedTerm{Name: "sorting", Times: 1000})
	unseen := predict(CalibratedTerm{Name: "sorting", UnseenBytes: 5 << 30})
	if plain.Best.PeakReserved != times.Best.PeakReserved || plain.Best.PeakReserved != unseen.Best.PeakReserved {
		t.Error("the best estimates differ")
	}
	if times.Safe <= plain.Safe || unseen.Safe < plain.Best.PeakReserved+5<<30 || plain.Safe > plain.Best.PeakReserved*104/100 {
		t.Errorf("safe %d, with a thousand times the sorting %d, with 5 GiB unseen %d", plain.Safe, times.Safe, unseen.Safe)
	}
}

// TestConvolutionsOfACard: a measured one counts; others are the H200's where the two are the
// same, and bounded by both where not.
func TestConvolutionsOfACard(t *testing.T) {
	h200 := measuredConvs()
	var known convShape // one that the H200's table has
	for i := range h200.layers {
		if l := &h200.layers[i]; l.mode == convBF16 && !l.nhwc && len(l.cases) > 1 && l.cases[0].workspace[convForward] > 8<<20 {
			known = l.at(l.cases[0].n)
			break
		}
	}
	was := h200.estimate(known, convForward)
	row := formatConv(&known, [3]int64{was.bytes + 4096, -1, -1})
	other := known
	other.n += 3
	for _, tt := range []struct {
		compared, equal int
		exact           bool
	}{{1000, 999, true}, {1000, 950, false}, {1000, 100, false}, {10, 10, false}} {
		m := ConvMeasurements{Compared: tt.compared, Equal: tt.equal, Rows: []string{row}}
		if err := m.index(); err != nil {
			t.Fatal(err)
		}
		if w := m.estimate(&known, convForward, h200); !w.exact || w.bytes != was.bytes+4096 {
			t.Errorf("%+v: measured %d, estimated %+v", tt, was.bytes+4096, w)
		}
		w, theirs := m.estimate(&known, convInput, h200), h200.estimate(known, convInput)
		if theirs.exact && (w.exact != tt.exact || w.high < theirs.high) {
			t.Errorf("%+v: %+v, on the H200 %+v", tt, w, theirs)
		}
	}
}
