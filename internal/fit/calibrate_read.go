package fit

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Measurements are what the companion measured on a card: docs/formats/profile.md.
type Measurements struct {
	Name string // of the file, for errors

	card      cardLine
	torch     torchLine
	processes []processLine
	nccl      []ncclLine
	products  []productLine
	calls     []callLine
	failed    int // cases that the card or the release could not run
	convs     map[int][3]int64
	tried     int // convolutions of the plan that there was time for
	left      []leftLine
	lost      int     // cases whose place in the allocator's history was not found
	seconds   float64 // 0: the companion did not come to its end
}

type cardLine struct {
	Version         int    `json:"version"`
	Index           int    `json:"index"`
	Name            string `json:"name"`
	TotalBytes      int64  `json:"total_bytes"`
	Major           int    `json:"major"`
	Minor           int    `json:"minor"`
	Multiprocessors int    `json:"multiprocessors"`
	MaxThreads      int    `json:"max_threads_per_multiprocessor"`
	L2Bytes         int64  `json:"l2_bytes"`
	SharedBytes     int64  `json:"shared_bytes_per_block"`
	Driver          string `json:"driver"`
	NVMLTotalBytes  int64  `json:"nvml_total_bytes"`
	Others          int    `json:"others"`
}

type torchLine struct {
	Torch string `json:"torch"`
	CUDA  string `json:"cuda"`
	CuDNN int    `json:"cudnn"`
	NCCL  string `json:"nccl"`
}

// processLine is what is in use after a step: by the process itself, nil where the driver does
// not tell processes apart, and on the device; reserved by PyTorch within it.
type processLine struct {
	Run      int    `json:"run"`
	What     string `json:"what"`
	Mine     *int64 `json:"mine"`
	Device   *int64 `json:"device"`
	Others   int    `json:"others"`
	Reserved int64  `json:"reserved"`
}

// ncclLine is of one rank: what is in use after each step, as mine, device, reserved.
type ncclLine struct {
	Rank  int                  `json:"rank"`
	Ranks int                  `json:"ranks"`
	Taken map[string][3]*int64 `json:"taken"`
}

type productLine struct {
	What string  `json:"what"`
	Kept []int64 `json:"kept"`
}

// callLine is a call of an operator: its form as a sig of a trace has it, requests and frees
// in order, and which of the requests are results.
type callLine struct {
	Term    string          `json:"term"`
	Op      string          `json:"op"`
	In      json.RawMessage `json:"in"`
	Args    json.RawMessage `json:"args"`
	Out     json.RawMessage `json:"out"`
	Events  []int64         `json:"events"`
	Results []int           `json:"results"`
}

type leftLine struct {
	What string `json:"what"`
	Why  string `json:"why"`
}

// ReadMeasurements reads what the companion wrote. Faults are a *TraceError; kinds of lines
// that are not known are skipped.
func ReadMeasurements(r io.Reader, name string) (*Measurements, error) {
	m := &Measurements{Name: name, convs: map[int][3]int64{}}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLineBytes)
	n := 0
	for lines.Scan() {
		n++
		if len(lines.Bytes()) == 0 {
			continue
		}
		if err := m.line(lines.Bytes()); err != nil {
			return nil, &TraceError{name, n, err}
		}
	}
	if err := lines.Err(); err != nil {
		return nil, &TraceError{name, n + 1, err}
	}
	if m.card.Version == 0 {
		return nil, &TraceError{name, max(n, 1), errors.New("has no line about the card")}
	}
	return m, nil
}

func (m *Measurements) line(line []byte) error {
	kind, err := kindOf(line)
	if err != nil {
		return fmt.Errorf("expected a JSON object: %w", err)
	}
	switch kind {
	case "card":
		if err := json.Unmarshal(line, &m.card); err != nil {
			return err
		}
		if m.card.Version != 1 {
			return fmt.Errorf("is of version %d: this ullage reads version 1", m.card.Version)
		}
		return nil
	case "torch":
		return json.Unmarshal(line, &m.torch)
	case "process":
		return appendLine(&m.processes, line)
	case "nccl":
		return appendLine(&m.nccl, line)
	case "product":
		return appendLine(&m.products, line)
	case "call":
		return appendLine(&m.calls, line)
	case "failed":
		m.failed++
	case "left":
		return appendLine(&m.left, line)
	}
	return m.count(kind, line)
}

// count reads the lines that are numbers.
func (m *Measurements) count(kind string, line []byte) error {
	var r struct {
		I       int      `json:"i"`
		Bytes   [3]int64 `json:"bytes"`
		Tried   int      `json:"tried"`
		Lost    int      `json:"lost"`
		Seconds float64  `json:"seconds"`
	}
	if err := json.Unmarshal(line, &r); err != nil {
		return err
	}
	switch kind {
	case "convolution":
		for _, b := range r.Bytes {
			if b < -1 || b > unbounded {
				return fmt.Errorf("a workspace of %d bytes", b)
			}
		}
		m.convs[r.I] = r.Bytes
	case "convolutions":
		m.tried += r.Tried
	case "kernels":
		m.lost += r.Lost
	case "end":
		m.seconds = r.Seconds
	}
	return nil
}

func appendLine[T any](list *[]T, line []byte) error {
	var row T
	if err := json.Unmarshal(line, &row); err != nil {
		return err
	}
	*list = append(*list, row)
	return nil
}

// whyLeft returns why a part was not measured, "" where it was.
func (m *Measurements) whyLeft(what string) string {
	for _, l := range m.left {
		if l.What == what {
			return l.Why
		}
	}
	return ""
}
