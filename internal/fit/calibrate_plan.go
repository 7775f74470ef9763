package fit

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// calibrationLayers are the convolutions of common models, most used first:
// testdata/gpu/calibration_layers.py made it.
//
//go:embed calibration_layers.txt
var calibrationLayers string

// ConvCase is a convolution to measure. As JSON it is a list: mode, 1 for channels
// innermost, batch, C, H, W, K, R, S, stride, padding, dilation, groups.
type ConvCase struct{ shape convShape }

// MarshalJSON writes the list.
func (c ConvCase) MarshalJSON() ([]byte, error) {
	list := []any{convModes[c.shape.mode], int64(truth(c.shape.nhwc)), c.shape.n}
	for i, f := range c.shape.convFields() {
		if i < 10 { // less the batch
			list = append(list, *f)
		}
	}
	return json.Marshal(list)
}

// How layers are run, and how much a run of a layer is worth beside the others: training in
// mixed precision and in float32 first, in the batches of one card, then other layouts, types
// and batches. All batches of a layer need not be measured: the nearest stands for them.
var calibrationForms = []struct {
	mode convMode
	nhwc bool
	n    int64
	is   float64
}{
	{convBF16, false, 64, 1},
	{convTF32, false, 64, 0.9},
	{convBF16, true, 64, 0.6},
	{convTF32, false, 32, 0.5},
	{convF16, false, 64, 0.5},
	{convBF16, false, 128, 0.5},
	{convBF16, false, 16, 0.4},
	{convTF32, false, 128, 0.4},
	{convTF32, true, 64, 0.4},
	{convBF16, false, 256, 0.35},
	{convBF16, false, 32, 0.35},
	{convTF32, false, 8, 0.3},
	{convF16, true, 64, 0.3},
	{convBF16, true, 256, 0.25},
	{convF32, false, 64, 0.2},
	{convTF32, false, 1, 0.2},
	{convBF16, false, 1, 0.15},
}

// CalibrationPlan is the convolutions to measure on a card, in the order in which they are
// worth it: by how many models have the layer, times the worth of the form. A layer that models
// have with channels innermost is measured in no other layout for them.
var CalibrationPlan = sync.OnceValue(func() []ConvCase {
	type ranked struct {
		ConvCase
		worth float64
	}
	var all []ranked
	for line := range strings.Lines(calibrationLayers) {
		v, models := calibrationLayer(line)
		for _, form := range calibrationForms {
			if v.nhwc && !form.nhwc {
				continue
			}
			w := v
			w.mode, w.nhwc, w.n = form.mode, form.nhwc, form.n
			all = append(all, ranked{ConvCase{w}, form.is * models})
		}
	}
	slices.SortStableFunc(all, func(a, b ranked) int { return cmp.Compare(b.worth, a.worth) })
	plan := make([]ConvCase, 0, len(all))
	seen := make(map[ConvCase]bool, len(all))
	for i := range all {
		if c := all[i].ConvCase; !seen[c] {
			seen[c] = true
			plan = append(plan, c)
		}
	}
	return plan
})

// calibrationLayer reads a line of the list: the layer, and how many models have it.
func calibrationLayer(line string) (v convShape, models float64) {
	var last int
	_, err := fmt.Sscan(line, &last, &v.c, &v.h, &v.w, &v.k, &v.r, &v.s, &v.stride, &v.pad, &v.dilation, &v.groups, &models)
	if err != nil {
		panic(err) // embedded: a test reads it
	}
	v.nhwc = last == 1
	return v, models
}
