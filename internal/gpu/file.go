package gpu

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Limits of a recorded file.
const (
	maxReadings  = 100_000
	maxFileBytes = 256 << 20
)

// recorded plays readings from a file, one a call. The last one stays.
type recorded struct {
	mu       sync.Mutex
	readings []Reading
	next     int
}

// openFile reads a file of readings; see docs/formats/gpus.md.
func openFile(path string, m Machine) (Probe, error) {
	f, err := m.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	readings, err := decodeReadings(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &recorded{readings: readings}, nil
}

// FormatError tells that a file is not one of readings.
type FormatError struct {
	Reading int // counted from 1
	Err     error
}

func (e *FormatError) Error() string { return fmt.Sprintf("reading %d: %v", e.Reading, e.Err) }
func (e *FormatError) Unwrap() error { return e.Err }

// Hint says how to get such a file.
func (e *FormatError) Hint() string {
	return "'ullage top --json' writes one; see docs/formats/gpus.md"
}

func decodeReadings(r io.Reader) ([]Reading, error) {
	var all []Reading
	for dec := json.NewDecoder(r); ; {
		var one Reading
		err := dec.Decode(&one)
		switch {
		case errors.Is(err, io.EOF) && len(all) > 0:
			return all, nil
		case errors.Is(err, io.EOF):
			err = errors.New("the file is empty")
		case dec.InputOffset() > maxFileBytes:
			err = fmt.Errorf("the file has more than %d bytes", maxFileBytes)
		case len(all) >= maxReadings:
			err = fmt.Errorf("the file has more than %d readings", maxReadings)
		case err == nil:
			err = one.check()
		}
		if err != nil {
			return nil, &FormatError{len(all) + 1, err}
		}
		one.tidy()
		all = append(all, one)
	}
}

func (p *recorded) Close() error { return nil }

func (p *recorded) Read(context.Context) (Reading, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.readings[p.next]
	p.next = min(p.next+1, len(p.readings)-1)
	return r, nil
}

// check refuses a reading that cannot be of a machine.
func (r *Reading) check() error {
	seen := map[string]bool{}
	for i, d := range r.Devices {
		switch {
		case d.UUID == "":
			return fmt.Errorf("devices[%d] has no uuid", i)
		case seen[d.UUID]:
			return fmt.Errorf("devices[%d]: uuid %.80q is there twice", i, d.UUID)
		}
		seen[d.UUID] = true
		if err := d.check(); err != nil {
			return fmt.Errorf("devices[%d]: %w", i, err)
		}
	}
	if err := r.checkLinks(seen); err != nil {
		return err
	}
	for i, p := range r.Processes {
		if !seen[p.DeviceUUID] {
			return fmt.Errorf("processes[%d]: no device has the uuid %.80q", i, p.DeviceUUID)
		}
		if p.UsedBytes != nil && *p.UsedBytes < 0 {
			return fmt.Errorf("processes[%d]: used_bytes is negative", i)
		}
	}
	return nil
}

func (d *Device) check() error {
	switch d.Kind {
	case KindGPU, KindVGPU, KindUnified:
	default:
		return fmt.Errorf("kind %.40q is none of gpu, vgpu, unified", d.Kind)
	}
	if d.Problem != "" {
		return nil // which may be that its amounts do not add up
	}
	if err := d.Memory.check(); err != nil {
		return err
	}
	for i, in := range d.Instances {
		if err := in.Memory.check(); err != nil {
			return fmt.Errorf("instances[%d]: %w", i, err)
		}
	}
	return nil
}

// checked returns a memory that a driver told, or says what cannot be about it.
func checked(m *Memory) (*Memory, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	return m, nil
}

// check holds the parts of a memory to their sum. NVML's numbers are of one moment, and add
// up to the byte; nvidia-smi rounds each to a MiB.
func (m *Memory) check() error {
	if m == nil {
		return nil
	}
	reserved := int64(0)
	if m.ReservedBytes != nil {
		reserved = *m.ReservedBytes
	}
	for _, part := range []int64{m.UsedBytes, m.FreeBytes, reserved} {
		if part < 0 || part > m.TotalBytes {
			return fmt.Errorf("memory: a part has %d of %d bytes", part, m.TotalBytes)
		}
	}
	const slack = 4 << 20
	if sum := m.UsedBytes + m.FreeBytes + reserved; sum < m.TotalBytes-slack || sum > m.TotalBytes+slack {
		return fmt.Errorf("memory: used, reserved and free add up to %d bytes, not to the total of %d", sum, m.TotalBytes)
	}
	return nil
}
