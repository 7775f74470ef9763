package fit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// profileVersion is the version of docs/formats/profile.md that is read and written.
const profileVersion = 1

// MaxProfileBytes is the largest file of a profile that is read: a thousand times what a
// calibration writes of cards, a hundred times of convolutions.
const MaxProfileBytes = 16 << 20

// ProfileError is a file of a card that cannot be.
type ProfileError struct {
	Name string
	Line int // 0 where a value is wrong and not the text
	Err  error
}

// Error names file and line.
func (e *ProfileError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %v", e.Name, e.Err)
	}
	return fmt.Sprintf("%s:%d: %v", e.Name, e.Line, e.Err)
}

// Unwrap returns what is wrong.
func (e *ProfileError) Unwrap() error { return e.Err }

// ParseProfile reads a card from JSON: docs/formats/profile.md. Faults are a *ProfileError
// with the name.
func ParseProfile(data []byte, name string) (*Profile, error) {
	if len(data) > MaxProfileBytes {
		return nil, &ProfileError{name, 0, fmt.Errorf("is larger than %d bytes", MaxProfileBytes)}
	}
	p := new(Profile)
	d := json.NewDecoder(bytes.NewReader(data))
	if err := d.Decode(p); err != nil {
		return nil, jsonError(data, name, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, &ProfileError{name, lineAt(data, d.InputOffset()), errors.New("has more after the object of the card")}
	}
	if p.Version > profileVersion {
		return nil, &ProfileError{name, 0, fmt.Errorf("is of version %d: this ullage reads version %d", p.Version, profileVersion)}
	}
	if p.Origin == "" {
		p.Origin = Given
	}
	if err := p.check(); err != nil {
		return nil, &ProfileError{name, 0, err}
	}
	if p.Calibration != nil {
		if err := p.Calibration.Convolutions.index(); err != nil {
			return nil, &ProfileError{name, lineOf(data, err), err}
		}
	}
	return p, nil
}

// jsonError puts a decoder's error at its line.
func jsonError(data []byte, name string, err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.EOF):
		return &ProfileError{name, 1, errors.New("is empty: expected the JSON object of a card")}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &ProfileError{name, lineAt(data, int64(len(data))), errors.New("breaks off within the JSON object of a card")}
	case errors.As(err, &syntax):
		return &ProfileError{name, lineAt(data, syntax.Offset), fmt.Errorf("is no JSON: %w", err)}
	case errors.As(err, &kind) && kind.Field == "":
		return &ProfileError{name, lineAt(data, kind.Offset), fmt.Errorf("is no card: expected a JSON object, not %s", kind.Value)}
	case errors.As(err, &kind):
		return &ProfileError{name, lineAt(data, kind.Offset), fmt.Errorf("%s: expected %s, not %s", kind.Field, jsonKind(kind), kind.Value)}
	}
	return &ProfileError{name, 0, err}
}

// jsonKind says in JSON's words what a field takes.
func jsonKind(e *json.UnmarshalTypeError) string {
	switch e.Type.Kind().String() {
	case "string":
		return "a string"
	case "bool":
		return "true or false"
	case "slice":
		return "a list"
	case "struct", "ptr":
		return "an object"
	case "float64":
		return "a number"
	}
	return "a whole number"
}

func lineAt(data []byte, offset int64) int {
	return 1 + bytes.Count(data[:min(max(offset, 0), int64(len(data)))], []byte("\n"))
}

// lineOf finds the line of a row that is wrong.
func lineOf(data []byte, err error) int {
	var row *rowError
	if errors.As(err, &row) {
		if quoted, err := json.Marshal(row.row); err == nil {
			if at := bytes.Index(data, quoted); at >= 0 {
				return lineAt(data, int64(at))
			}
		}
	}
	return 0
}

// check refuses what no card can be. Errors name the field.
func (p *Profile) check() error {
	switch {
	case p.Name == "":
		return errors.New("name: is missing: expected a word for the card")
	case p.TotalBytes <= 0 || p.TotalBytes > unbounded:
		return fmt.Errorf("total_bytes: %d of %s: expected the card's memory in bytes", p.TotalBytes, p.Name)
	case p.Multiprocessors <= 0 || p.Multiprocessors > 4096:
		return fmt.Errorf("multiprocessors: %d of %s: expected 1 to 4096", p.Multiprocessors, p.Name)
	case p.Major < 5 || p.Major > 99 || p.Minor < 0 || p.Minor > 9:
		return fmt.Errorf("major: compute capability %d.%d of %s: expected 5.0 or higher", p.Major, p.Minor, p.Name)
	case p.MaxThreads < 0 || p.MaxThreads > 1<<16:
		return fmt.Errorf("max_threads_per_multiprocessor: %d of %s: expected up to 65536", p.MaxThreads, p.Name)
	case p.Version < 0:
		return fmt.Errorf("version: %d of %s: expected %d", p.Version, p.Name, profileVersion)
	}
	if err := p.Context.check(p.TotalBytes); err != nil {
		return err
	}
	return p.Calibration.check(p.TotalBytes)
}

func (c *Context) check(total int64) error {
	for _, part := range []struct {
		name  string
		bytes int64
	}{
		{"base_bytes", c.BaseBytes},
		{"cublas_bytes", c.CuBLASBytes},
		{"cublas_more_bytes", c.CuBLASMoreBytes},
		{"cudnn_bytes", c.CuDNNBytes},
		{"spread_bytes", c.SpreadBytes},
		{"nccl.library_bytes", c.NCCL.LibraryBytes},
		{"nccl.communicator_bytes", c.NCCL.CommunicatorBytes},
		{"nccl.rings_bytes", c.NCCL.RingsBytes},
		{"nccl.messages_bytes", c.NCCL.MessagesBytes},
		{"nccl.send_bytes", c.NCCL.SendBytes},
		{"nccl.receive_bytes", c.NCCL.ReceiveBytes},
	} {
		if part.bytes < 0 || part.bytes >= total {
			return fmt.Errorf("context.%s: %d: expected 0 or more, and less than total_bytes", part.name, part.bytes)
		}
	}
	return nil
}

func (c *Calibration) check(total int64) error {
	if c == nil {
		return nil
	}
	for _, w := range []int64{c.CuBLASWorkspace, c.CuBLASLtWorkspace} {
		if w < 0 || w >= total {
			return fmt.Errorf("calibration: a workspace of cuBLAS of %d bytes: expected 0 or more, and less than total_bytes", w)
		}
	}
	for i, t := range c.Terms {
		if t.Name == "" || t.Times < 0 || t.Times > 1e6 || t.UnseenBytes < 0 || t.UnseenBytes >= total || t.Calls < 0 || t.Exact < 0 || t.Exact > t.Calls {
			return fmt.Errorf("calibration.terms[%d]: %q with %d of %d calls exact, %g times and %d bytes unseen cannot be", i, t.Name, t.Exact, t.Calls, t.Times, t.UnseenBytes)
		}
	}
	return nil
}
