package fit

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
)

// convBytes is what testdata/gpu/conv_workspace.py measured on an H200 with cuDNN 9.19, of
// 87,000 convolutions, 259,000 workspaces: the layers of 230 models of torchvision and timm at several
// batches and image sizes, series in which one number varies, and random ones, odd channels, dilations, large
// kernels, one and three dimensions included. conv_table_test.go makes
// the file from the measurements (-update) and holds it against them.
//
//go:embed convolutions.bin.gz
var convBytes []byte

// convLayer is a convolution without its batch.
type convLayer struct {
	convShape // n is 0
	cases     []convCase
}

// convCase is what was measured of one batch: -1 where a computation was not.
type convCase struct {
	n         int64
	workspace [3]int64 // by convDir
}

var errConvTable = errors.New("the table of convolutions is damaged")

// formVolume marks a layer in three dimensions, which has the three numbers of its depth
// behind the others. Below it are the layout, and the mode from its second bit on.
const formVolume = 16

func (v *convVolume) fields() [3]*int64 { return [3]*int64{&v.in, &v.kernel, &v.out} }

// convFields are a layer's numbers in the order of the file.
func (v *convShape) convFields() [11]*int64 {
	return [11]*int64{&v.c, &v.h, &v.w, &v.k, &v.r, &v.s, &v.stride, &v.pad, &v.dilation, &v.groups, &v.n}
}

// writeConvTable writes layers: for each its form, then of each batch the three sizes, as
// class and rest.
func writeConvTable(w io.Writer, layers []convLayer) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	var buf []byte
	for i := range layers {
		l := &layers[i]
		form := uint64(l.mode) << 1
		if l.nhwc {
			form |= 1
		}
		if l.isVolume() {
			form |= formVolume
		}
		buf = binary.AppendUvarint(buf, form)
		for _, f := range l.convFields() {
			buf = binary.AppendUvarint(buf, uint64(*f))
		}
		if l.isVolume() {
			for _, f := range l.volume.fields() {
				buf = binary.AppendUvarint(buf, uint64(*f))
			}
		}
		buf = binary.AppendUvarint(buf, uint64(len(l.cases)))
		for _, c := range l.cases {
			buf = binary.AppendUvarint(buf, uint64(c.n))
			v := l.at(c.n)
			for _, ws := range c.workspace {
				if ws < 0 {
					buf = append(buf, 255)
					continue
				}
				class, rest := v.classify(ws)
				buf = append(buf, byte(class))
				buf = binary.AppendUvarint(buf, uint64(rest))
			}
		}
	}
	if _, err := z.Write(buf); err != nil {
		return err
	}
	return z.Close()
}

// at returns the layer's convolution for a batch.
func (l *convLayer) at(n int64) convShape {
	v := l.convShape
	v.n, v.p, v.q = n, 0, 0
	v.output()
	return v
}

func readConvTable(data []byte) ([]convLayer, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errConvTable, err)
	}
	raw, err := io.ReadAll(z)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errConvTable, err)
	}
	rd := bytes.NewReader(raw)
	var layers []convLayer
	for rd.Len() > 0 {
		l, err := readConvLayer(rd)
		if err != nil {
			return nil, err
		}
		layers = append(layers, l)
	}
	return layers, nil
}

func readConvLayer(rd *bytes.Reader) (l convLayer, err error) {
	number := func() int64 {
		n, e := binary.ReadUvarint(rd)
		if e != nil || n > 1<<50 {
			err = errConvTable
		}
		return int64(n)
	}
	form := number()
	l.mode, l.nhwc = convMode(form>>1&3), form&1 != 0
	for _, f := range l.convFields() {
		*f = number()
	}
	if form&formVolume != 0 {
		for _, f := range l.volume.fields() {
			if *f = number(); *f < 1 {
				return l, errConvTable
			}
		}
	}
	count := number()
	if err != nil || l.groups < 1 || count > 1<<20 {
		return l, errConvTable
	}
	for range count {
		c := convCase{n: number()}
		v := l.at(c.n)
		for d := range c.workspace {
			class, e := rd.ReadByte()
			if e != nil || err != nil {
				return l, errConvTable
			}
			if class == 255 {
				c.workspace[d] = -1
				continue
			}
			c.workspace[d] = v.base(convClass(class)) + number()
		}
		l.cases = append(l.cases, c)
	}
	return l, err
}

// convKey finds a layer.
type convKey struct {
	mode   convMode
	nhwc   bool
	f      [10]int64
	volume convVolume
}

func (v *convShape) key() convKey {
	k := convKey{mode: v.mode, nhwc: v.nhwc, volume: v.volume}
	for i, f := range v.convFields() {
		if i < len(k.f) {
			k.f[i] = *f
		}
	}
	return k
}

// convTable is the measured layers with an index.
type convTable struct {
	layers []convLayer
	byKey  map[convKey]*convLayer
	byKind map[convKind][]candidate
}

// candidate is a layer that an estimate may be made of. Its features go by no batch.
type candidate struct {
	*convLayer
	features features
}

// measuredConvs unpacks the table at its first use.
var measuredConvs = sync.OnceValue(func() *convTable {
	layers, err := readConvTable(convBytes)
	if err != nil {
		panic(err) // embedded: a test reads it
	}
	return newConvTable(layers)
})

func newConvTable(layers []convLayer) *convTable {
	t := &convTable{layers: layers, byKey: make(map[convKey]*convLayer, len(layers)), byKind: map[convKind][]candidate{}}
	for i := range layers {
		l := &layers[i]
		t.byKey[l.key()] = l
		one := l.at(1)
		t.byKind[l.kind()] = append(t.byKind[l.kind()], candidate{l, one.features()})
	}
	return t
}
