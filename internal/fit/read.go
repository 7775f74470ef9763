package fit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/ullage-dev/ullage/snapshot"
)

// Limits of what is read. A step of a 70-billion-parameter model makes 100,000 lines.
const (
	maxLineBytes = 16 << 20
	maxEvents    = 50_000_000
	maxTable     = 4_000_000 // rows of a table, and of storages that an id may name at once
	maxRank      = 64        // dimensions of a tensor; torch has the same limit
	maxTensors   = 4096      // of one operator
)

// TraceError is a trace that cannot be.
type TraceError struct {
	Name string
	Line int
	Err  error
}

// Error names file and line.
func (e *TraceError) Error() string { return fmt.Sprintf("%s:%d: %v", e.Name, e.Line, e.Err) }

// Unwrap returns what is wrong.
func (e *TraceError) Unwrap() error { return e.Err }

// Read reads a trace: docs/formats/trace.md. A last line that breaks off is left out, for
// its process was killed; Trace.Cut says so. Other faults are a *TraceError.
func Read(r io.Reader, name string) (*Trace, error) {
	rd := &reader{t: &Trace{Name: name}, lines: bufio.NewReaderSize(r, 1<<16)}
	for {
		line, err := rd.next()
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, rd.fail(err)
		}
		if len(bytes.TrimSpace(line)) > 0 {
			whole := err == nil
			if wrong := rd.row(line); wrong != nil {
				if whole || !errors.As(wrong, new(*json.SyntaxError)) {
					return nil, rd.fail(wrong)
				}
				rd.t.Cut = fmt.Sprintf("line %d breaks off", rd.line)
			}
		}
		if err != nil {
			break
		}
	}
	if rd.t.Meta.Version == 0 {
		rd.line = max(rd.line, 1)
		return nil, rd.fail(errors.New("is empty: expected a line with meta"))
	}
	if rd.t.End == nil && rd.t.Cut == "" {
		rd.t.Cut = "there is no line with end: the process was killed"
	}
	return rd.t, nil
}

// reader builds a Trace line by line.
type reader struct {
	t     *Trace
	lines *bufio.Reader
	buf   []byte
	line  int
	live  map[int32]bool // storages that were made and not freed
}

func (rd *reader) fail(err error) error { return &TraceError{rd.t.Name, rd.line, err} }

// next returns the next line without its end.
func (rd *reader) next() ([]byte, error) {
	rd.line++
	rd.buf = rd.buf[:0]
	for {
		part, err := rd.lines.ReadSlice('\n')
		if len(rd.buf)+len(part) > maxLineBytes {
			return nil, fmt.Errorf("is longer than %d bytes", maxLineBytes)
		}
		rd.buf = append(rd.buf, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return rd.buf, err
		}
	}
}

// row is a line of any kind; keys are those of docs/formats/trace.md.
type row struct {
	E     string          `json:"e"`
	ID    *int64          `json:"id"`
	File  string          `json:"file"`
	Line  int             `json:"line"`
	Name  string          `json:"name"`
	F     []int64         `json:"f"`
	More  int             `json:"more"`
	Op    string          `json:"op"`
	In    []tensorRow     `json:"in"`
	Args  map[string]any  `json:"args"`
	Out   []tensorRow     `json:"out"`
	Class string          `json:"class"`
	Sig   *int64          `json:"sig"`
	K     *int64          `json:"k"`
	T     int             `json:"t"`
	P     string          `json:"p"`
	M     *int64          `json:"m"`
	New   [][]int64       `json:"new"`
	S     *int64          `json:"s"`
	N     int64           `json:"n"`
	D     int64           `json:"d"`
	What  string          `json:"what"`
	Value json.RawMessage `json:"value"`
	As    string          `json:"as"`
	Text  string          `json:"text"`
}

// tables and events name the kinds of lines.
var eventKinds = map[string]Kind{
	"op": Op, "alloc": Alloc, "free": Free, "use": Use, "sync": Sync, "step": Step, "empty_cache": EmptyCache,
	"reset_peak": ResetPeak, "fraction": Fraction, "set": Set, "tag": Tag, "note": Note,
}

func (rd *reader) row(line []byte) error {
	name, err := kindOf(line)
	if err != nil {
		return rd.notALine(err)
	}
	if rd.t.Meta.Version == 0 && name != "meta" {
		return fmt.Errorf("begins with a line of kind %q: expected meta", name)
	}
	switch name {
	case "meta":
		return rd.meta(line)
	case "end":
		rd.t.End = new(End)
		return json.Unmarshal(line, rd.t.End)
	case "group", "comm", "talk", "held":
		return rd.ranks(name, line)
	case "remedy":
		return rd.applied(line)
	}
	var r row
	kind, isEvent := eventKinds[name]
	if !isEvent && name != "frame" && name != "stack" && name != "sig" && name != "module" {
		return nil // of a newer version
	}
	if err := json.Unmarshal(line, &r); err != nil {
		return fmt.Errorf("of kind %q: %w", name, err)
	}
	if isEvent {
		return rd.event(kind, &r)
	}
	return rd.table(&r)
}

// kindOf returns the kind of a line, which the companion writes first: it need not be parsed
// for that.
func kindOf(line []byte) (string, error) {
	if rest, ok := bytes.CutPrefix(line, []byte(`{"e":"`)); ok {
		if name, _, ok := bytes.Cut(rest, []byte(`"`)); ok && !bytes.ContainsRune(name, '\\') {
			return string(name), nil
		}
	}
	var head struct {
		E string `json:"e"`
	}
	err := json.Unmarshal(line, &head)
	return head.E, err
}

func (rd *reader) notALine(err error) error {
	if rd.t.Meta.Version == 0 {
		return fmt.Errorf("is no trace of ullage fit: expected JSON lines: %w", err)
	}
	return err
}

func (rd *reader) meta(line []byte) error {
	if rd.t.Meta.Version != 0 {
		return errors.New("a second line with meta")
	}
	if err := json.Unmarshal(line, &rd.t.Meta); err != nil {
		return err
	}
	if v := rd.t.Meta.Version; v != 1 {
		return fmt.Errorf("is of version %d: this ullage reads version 1", v)
	}
	rd.t.Meta.Torch, _, _ = strings.Cut(rd.t.Meta.Torch, "+")
	return nil
}

// table adds a row to the table of its kind; rows are counted from 0.
func (rd *reader) table(r *row) error {
	t := rd.t
	var n int
	switch r.E {
	case "frame":
		t.Frames, n = append(t.Frames, Frame{r.File, r.Line, r.Name}), len(t.Frames)
	case "stack":
		s, err := rd.stack(r)
		if err != nil {
			return err
		}
		t.Stacks, n = append(t.Stacks, s), len(t.Stacks)
	case "module":
		t.Modules, n = append(t.Modules, Module{r.Name, r.Class}), len(t.Modules)
	case "sig":
		s, err := rd.sig(r)
		if err != nil {
			return err
		}
		t.Sigs, n = append(t.Sigs, s), len(t.Sigs)
	}
	if r.ID == nil || *r.ID != int64(n) {
		return fmt.Errorf("a %s out of turn: expected id %d", r.E, n)
	}
	if n >= maxTable {
		return fmt.Errorf("more than %d rows of kind %s", maxTable, r.E)
	}
	return nil
}

func (rd *reader) stack(r *row) (Stack, error) {
	s := Stack{Frames: make([]int32, 0, len(r.F)), More: r.More}
	for _, f := range r.F {
		if f < 0 || f >= int64(len(rd.t.Frames)) {
			return s, fmt.Errorf("a stack names frame %d of %d", f, len(rd.t.Frames))
		}
		s.Frames = append(s.Frames, int32(f))
	}
	return s, nil
}

func (rd *reader) sig(r *row) (Sig, error) {
	s := Sig{Op: r.Op, Args: r.Args}
	if len(r.In)+len(r.Out) > maxTensors {
		return s, fmt.Errorf("an operator with %d tensors: at most %d", len(r.In)+len(r.Out), maxTensors)
	}
	for _, t := range r.In {
		s.In = append(s.In, Tensor(t))
	}
	for _, t := range r.Out {
		s.Out = append(s.Out, Tensor(t))
	}
	return s, nil
}

// index checks an index into a table; nil is none.
func index(what string, id *int64, n int) (int32, error) {
	if id == nil {
		return -1, nil
	}
	if *id < 0 || *id >= int64(n) {
		return -1, fmt.Errorf("names %s %d of %d", what, *id, n)
	}
	return int32(*id), nil
}

func (rd *reader) event(kind Kind, r *row) error {
	t := rd.t
	if len(t.Events) >= maxEvents {
		return fmt.Errorf("more than %d events", maxEvents)
	}
	e := Event{Kind: kind, Phase: 'f', ID: -1, Text: -1, Line: int32(rd.line), Thread: uint8(min(max(r.T, 0), 255))}
	if r.P != "" {
		e.Phase = r.P[0]
	}
	var err error
	if e.Stack, err = index("stack", r.K, len(t.Stacks)); err != nil {
		return err
	}
	if e.Module, err = index("module", r.M, len(t.Modules)); err != nil {
		return err
	}
	if e.Sig, err = index("sig", r.Sig, len(t.Sigs)); err != nil {
		return err
	}
	if r.S != nil {
		if *r.S < 0 || *r.S >= maxTable {
			return fmt.Errorf("names stream %d", *r.S)
		}
		e.Stream = uint32(*r.S)
	}
	if err := rd.content(&e, r); err != nil {
		return err
	}
	t.Events = append(t.Events, e)
	return nil
}

// content reads what is of one kind of event only.
func (rd *reader) content(e *Event, r *row) error {
	switch e.Kind {
	case Op:
		if e.Sig < 0 {
			return errors.New("an op without sig")
		}
		return rd.news(e, r.New)
	case Alloc:
		if r.ID == nil {
			return errors.New("an alloc without id")
		}
		return rd.news(e, [][]int64{{*r.ID, r.N, r.D}})
	case Free, Use, Tag:
		if r.ID == nil || *r.ID < 0 || *r.ID > 1<<31-1 || !rd.live[int32(*r.ID)] {
			return fmt.Errorf("%s of a storage that does not live", r.E)
		}
		e.ID = int32(*r.ID)
		if e.Kind == Free {
			delete(rd.live, e.ID)
		}
		if e.Kind == Tag {
			rd.text(e, r.As, r.Name)
		}
	case Sync:
		e.Value = float64(r.N)
	case Step:
		e.Value = float64(r.N)
		if r.ID != nil {
			e.ID = int32(min(max(*r.ID, 0), maxTable))
		}
		rd.text(e, r.What, "")
	case Note:
		rd.text(e, r.What, r.Text)
	case Set, Fraction:
		return rd.value(e, r)
	}
	return nil
}

// news adds storages that an event made.
func (rd *reader) news(e *Event, list [][]int64) error {
	t := rd.t
	e.First, e.Count = int32(len(t.News)), int32(len(list))
	if rd.live == nil {
		rd.live = map[int32]bool{}
	}
	for _, n := range list {
		if len(n) < 2 || len(n) > 3 {
			return fmt.Errorf("a storage of %d numbers: expected id, bytes, and perhaps the device", len(n))
		}
		s := Storage{Bytes: n[1]}
		if n[0] < 0 || n[0] > 1<<31-1 || rd.live[int32(n[0])] {
			return fmt.Errorf("storage %d is made while it lives", n[0])
		}
		if n[1] <= 0 || n[1] > snapshot.MaxSizeBytes {
			return fmt.Errorf("storage %d of %d bytes", n[0], n[1])
		}
		if len(rd.live) >= maxTable {
			return fmt.Errorf("more than %d storages live at once", maxTable)
		}
		s.ID = int32(n[0])
		if len(n) == 3 {
			if n[2] < 0 || n[2] > 1023 {
				return fmt.Errorf("storage %d on device %d", n[0], n[2])
			}
			s.Device = int32(n[2])
		}
		rd.live[s.ID] = true
		t.Storage = max(t.Storage, int(s.ID)+1)
		t.News = append(t.News, s)
	}
	return nil
}

func (rd *reader) text(e *Event, what, text string) {
	e.Text = int32(len(rd.t.Texts))
	rd.t.Texts = append(rd.t.Texts, Text{what, text})
}

// value reads a setting: a number, a boolean, or a text.
func (rd *reader) value(e *Event, r *row) error {
	var v any
	if len(r.Value) > 0 {
		if err := json.Unmarshal(r.Value, &v); err != nil {
			return err
		}
	}
	text := ""
	switch x := v.(type) {
	case bool:
		if x {
			e.Value = 1
		}
	case float64:
		e.Value = x
	case string:
		text = x
	}
	rd.text(e, r.Name, text)
	return nil
}
