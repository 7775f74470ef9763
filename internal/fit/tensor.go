package fit

import (
	"encoding/json"
	"fmt"

	"github.com/ullage-dev/ullage/snapshot"
)

// Tensor is the form of a tensor: what a kernel's needs depend on.
type Tensor struct {
	DType   string
	Shape   []int64
	Strides []int64 // in elements; nil where contiguous, or not strided
	Layout  string  // "" for strided; "sparse", "nested"
	Device  string  // "" for the GPU
}

// tensorRow is a Tensor as the trace has it: [dtype, shape, strides, device].
type tensorRow Tensor

// UnmarshalJSON reads the list, and refuses what no tensor can be.
func (t *tensorRow) UnmarshalJSON(data []byte) error {
	var parts []json.RawMessage
	if err := json.Unmarshal(data, &parts); err != nil {
		return fmt.Errorf("a tensor is a list: %w", err)
	}
	if len(parts) < 2 || len(parts) > 4 {
		return fmt.Errorf("a tensor of %d parts: expected dtype, shape, strides and perhaps the device", len(parts))
	}
	if err := json.Unmarshal(parts[0], &t.DType); err != nil {
		return err
	}
	if err := json.Unmarshal(parts[1], &t.Shape); err != nil {
		return err
	}
	if len(parts) > 2 {
		if err := t.strides(parts[2]); err != nil {
			return err
		}
	}
	if len(parts) > 3 {
		if err := json.Unmarshal(parts[3], &t.Device); err != nil {
			return err
		}
	}
	return (*Tensor)(t).check()
}

func (t *tensorRow) strides(data []byte) error {
	if json.Unmarshal(data, &t.Layout) == nil {
		return nil // a word, or null
	}
	return json.Unmarshal(data, &t.Strides)
}

func (t *Tensor) check() error {
	if len(t.Shape) > maxRank {
		return fmt.Errorf("a tensor of %d dimensions: at most %d", len(t.Shape), maxRank)
	}
	if t.Strides != nil && len(t.Strides) != len(t.Shape) {
		return fmt.Errorf("a tensor of %d dimensions with %d strides", len(t.Shape), len(t.Strides))
	}
	n := int64(1)
	for _, s := range t.Shape {
		if s < 0 || s > snapshot.MaxSizeBytes {
			return fmt.Errorf("a tensor with a dimension of %d", s)
		}
		if s > 0 && n > snapshot.MaxSizeBytes/s {
			return fmt.Errorf("a tensor larger than %d elements", snapshot.MaxSizeBytes)
		}
		n *= max(s, 1)
	}
	for _, s := range t.Strides {
		if s < -snapshot.MaxSizeBytes || s > snapshot.MaxSizeBytes {
			return fmt.Errorf("a tensor with a stride of %d", s)
		}
	}
	return nil
}

// elementBytes are the sizes of torch's types.
var elementBytes = map[string]int64{
	"float64": 8, "double": 8, "int64": 8, "long": 8, "uint64": 8, "complex64": 8, "complex128": 16, "complex32": 4,
	"float32": 4, "float": 4, "int32": 4, "int": 4, "uint32": 4,
	"float16": 2, "half": 2, "bfloat16": 2, "int16": 2, "short": 2, "uint16": 2,
	"int8": 1, "uint8": 1, "bool": 1, "float8_e4m3fn": 1, "float8_e5m2": 1, "float8_e4m3fnuz": 1, "float8_e5m2fnuz": 1, "float8_e8m0fnu": 1,
}

// Element returns the bytes of one element; 4 for a type that is not known.
func (t *Tensor) Element() int64 {
	if n, ok := elementBytes[t.DType]; ok {
		return n
	}
	return 4
}

// Numel returns the number of elements.
func (t *Tensor) Numel() int64 {
	n := int64(1)
	for _, s := range t.Shape {
		n *= s
	}
	return n
}

// Bytes returns what the elements take.
func (t *Tensor) Bytes() int64 { return t.Numel() * t.Element() }

// Dim returns the size of a dimension, counted from the end where negative; 1 where
// there is no such dimension.
func (t *Tensor) Dim(i int) int64 {
	if i < 0 {
		i += len(t.Shape)
	}
	if i < 0 || i >= len(t.Shape) {
		return 1
	}
	return t.Shape[i]
}

// strided returns the strides, in elements, those of a contiguous tensor where none are
// given.
func (t *Tensor) strided() []int64 {
	if t.Strides != nil {
		return t.Strides
	}
	return contiguous(t.Shape)
}

func contiguous(shape []int64) []int64 {
	out := make([]int64, len(shape))
	n := int64(1)
	for i := len(shape) - 1; i >= 0; i-- {
		out[i] = n
		n *= max(shape[i], 1)
	}
	return out
}

// isContiguous tells whether the elements lie in the order of the dimensions, without
// gaps. Strides of dimensions of size 1 do not count.
func (t *Tensor) isContiguous() bool {
	if t.Strides == nil {
		return true
	}
	n := int64(1)
	for i := len(t.Shape) - 1; i >= 0; i-- {
		if t.Shape[i] != 1 && t.Strides[i] != n {
			return false
		}
		n *= t.Shape[i]
	}
	return true
}

// isChannelsLast tells whether the elements of an image batch lie with the channels
// innermost, as torch.channels_last has them.
func (t *Tensor) isChannelsLast() bool {
	d := len(t.Shape)
	if t.Strides == nil || d < 4 || d > 5 {
		return false
	}
	order := []int{1}
	for i := d - 1; i >= 2; i-- {
		order = append(order, i)
	}
	order = append(order, 0)
	n := int64(1)
	for _, i := range order {
		if t.Shape[i] != 1 && t.Strides[i] != n {
			return false
		}
		n *= t.Shape[i]
	}
	return true
}

// onGPU tells whether the tensor is on the GPU.
func (t *Tensor) onGPU() bool { return t.Device == "" || len(t.Device) >= 4 && t.Device[:4] == "cuda" }
