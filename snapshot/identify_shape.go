package snapshot

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ullage-dev/ullage/internal/pickle"
	"github.com/ullage-dev/ullage/internal/value"
)

// key is a key of a dict as text. Numbers are keys too, as in a table by rank.
func (s *shaper) key(v value.Value) string {
	if v.Kind() == value.KindInt {
		return strconv.FormatInt(v.Small(), 10)
	}
	return s.pool.Text(v)
}

// maxShapeKeys is how many keys of a dict are looked at.
const maxShapeKeys = 64

// shape is what is known of a container after its beginning was read: enough to
// tell a recording from a profile.
type shape struct {
	dict    bool
	keys    []string    // of a dict
	first   value.Value // first element of a list
	numbers int         // how many of a list's first elements are numbers
	n       int         // elements seen
}

// shaper is a value.Builder that keeps shapes. It is given the first bytes of a
// file only, so it may keep one of every container.
type shaper struct {
	pool   value.Pool
	shapes []shape
}

func (s *shaper) Pool() *value.Pool { return &s.pool }

func (s *shaper) Dict(_ value.Place, items []value.Value) (value.Value, error) {
	sh := shape{dict: true, n: len(items) / 2}
	for i := 0; i < len(items) && len(sh.keys) < maxShapeKeys; i += 2 {
		sh.keys = append(sh.keys, s.key(items[i]))
	}
	return s.add(sh), nil
}

func (s *shaper) CutDict(items []value.Value) value.Value {
	v, _ := s.Dict(0, items) // never fails
	return v
}

func (s *shaper) List(list value.Value, items []value.Value) (value.Value, error) {
	if list == value.Nothing {
		list = s.add(shape{})
	}
	sh := &s.shapes[list.Payload()]
	for _, v := range items {
		if sh.n == 0 {
			sh.first = v
		}
		if k := v.Kind(); sh.numbers == sh.n && (k == value.KindInt || k == value.KindNumber) {
			sh.numbers++
		}
		sh.n++
	}
	return list, nil
}

func (s *shaper) Tuple(items []value.Value) (value.Value, error) { return s.List(value.Nothing, items) }

func (s *shaper) add(sh shape) value.Value {
	s.shapes = append(s.shapes, sh)
	return value.Of(value.KindObject, uint64(len(s.shapes)-1))
}

// of returns the shape of v; that of a string or a number has nothing in it.
func (s *shaper) of(v value.Value) shape {
	if !v.IsObject() {
		return shape{}
	}
	return s.shapes[v.Payload()]
}

func (sh shape) has(keys ...string) bool {
	for _, k := range keys {
		if slices.Contains(sh.keys, k) {
			return true
		}
	}
	return false
}

// ofRecording tells whether root can be a recording: the dict, or the list of segments.
func (s *shaper) ofRecording(root value.Value) bool {
	sh := s.of(root)
	if sh.dict {
		return sh.has("segments", "device_traces", "host_segments", "host_traces", "allocator_settings", "external_annotations")
	}
	return s.of(sh.first).has("total_size", "blocks", "segment_type", "address")
}

// holdsRecording tells whether a recording can be within root, as in {"snapshot": {…}}.
func (s *shaper) holdsRecording(root value.Value) bool {
	return s.ofRecording(root) || slices.ContainsFunc(s.shapes, func(sh shape) bool { return sh.has("device_traces", "host_traces") })
}

// identifyJSON tells what JSON is from its beginning. Text that only begins like
// JSON, and logs of one JSON object a line, are text.
func identifyJSON(text []byte) Identity {
	s := &shaper{}
	d := &jsonDecoder{s: newJSONScanner(bytes.NewReader(text), len(text)), b: s, pool: &s.pool, keepCut: true}
	err := d.run()
	var bad *jsonError
	more := false
	if err == nil {
		_, next := d.s.next()
		more = next != io.EOF
	} else {
		_ = d.cut() // a shaper never fails
	}
	id, known := s.jsonIdentity(d.root)
	switch {
	case errors.As(err, &bad) && !known, more && !known:
		return Identity{Content: ContentText, What: "text"}
	case err == nil && !known:
		id.holds = holdsNot
	}
	return id
}

// jsonIdentity returns what the JSON is, and whether its shape is a known one.
func (s *shaper) jsonIdentity(root value.Value) (Identity, bool) {
	sh := s.of(root)
	first := s.of(sh.first)
	switch {
	case s.holdsRecording(root):
		return Identity{Content: ContentJSON, What: "JSON", holds: doesHold}, true
	case sh.has("traceEvents") || sh.has("schemaVersion") && sh.has("deviceProperties") || first.has("ph") && first.has("ts"):
		return foreign("a trace of the PyTorch profiler (Chrome trace format)", profileHint), true
	case isStats(sh.keys):
		return Identity{Content: ContentStats, What: "torch.cuda.memory_stats() as JSON"}, true
	case first.numbers == 4 && first.n == 4 && s.allQuads():
		return foreign("the output of export_memory_timeline (raw.json)", profileHint), true
	case first.n > 0 && first.numbers == first.n && sh.n <= 2:
		return foreign("the output of export_memory_timeline (json)", profileHint), true
	case sh.dict && len(sh.keys) > 0:
		return Identity{Content: ContentJSON, What: "JSON with the keys " + keyList(sh.keys), Advice: howToRecord}, false
	}
	return Identity{Content: ContentJSON, What: "JSON without the keys of a recording", Advice: howToRecord}, false
}

// isStats knows memory_stats() by its keys, flat ("allocated_bytes.all.current") or nested.
func isStats(keys []string) bool {
	found := 0
	for _, k := range keys {
		name, _, _ := strings.Cut(k, ".")
		switch name {
		case "allocated_bytes", "reserved_bytes", "active_bytes", "allocation", "segment", "inactive_split", "num_alloc_retries", "num_ooms":
			found++
		}
	}
	return found >= 3
}

// allQuads tells whether every list but the outermost has four elements; the last
// one may be cut.
func (s *shaper) allQuads() bool {
	for i, sh := range s.shapes {
		if !sh.dict && sh.n != 4 && i < len(s.shapes)-2 {
			return false
		}
	}
	return len(s.shapes) > 1
}

func keyList(keys []string) string {
	var b strings.Builder
	for i, k := range keys[:min(5, len(keys))] {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(quoted(k))
	}
	if len(keys) > 5 {
		b.WriteString(", …")
	}
	return b.String()
}

// identifyPickle reads the beginning of a pickle, and names it by the first thing
// that it asks Python to import.
func identifyPickle(head []byte) (Identity, bool) {
	if !beginsPickle(head) {
		return Identity{}, false
	}
	s := &shaper{}
	res, err := pickle.Decode(bytes.NewReader(head), s, pickle.Options{MaxString: sniffBytes})
	var refused *pickle.RefusedError
	var bad *pickle.SyntaxError
	switch {
	case errors.As(err, &refused):
		return identifyGlobal(refused.Global), true
	case errors.As(err, &bad) && bad.Offset < 64 && !s.ofRecording(res.Root):
		return Identity{}, false // two bytes that look so by chance
	case err == nil && !s.holdsRecording(res.Root):
		return notRecordingPickle(s.of(res.Root)), true
	}
	id := Identity{Content: ContentPickle, What: "a pickle"}
	if s.holdsRecording(res.Root) {
		id.holds = doesHold
	}
	return id, true
}

// beginsPickle knows protocols 2 and up by their first byte, and the older two by
// the containers that a recording could begin with.
func beginsPickle(head []byte) bool {
	if len(head) >= 2 && head[0] == 0x80 {
		return head[1] >= 2 && head[1] < 16
	}
	for _, p := range []string{"}q\x00", "]q\x00", "(dp0\n", "(lp0\n", "(dp1\n", "(lp1\n"} {
		if bytes.HasPrefix(head, []byte(p)) {
			return true
		}
	}
	return textGlobal.Match(head) && bytes.HasSuffix(bytes.TrimSpace(head), []byte("R."))
}

// textGlobal is how a pickle of protocol 0 begins that is code from its first byte on:
// the GLOBAL opcode with a module and a name, each on a line, then its arguments. A text
// that begins so by chance does not also end in REDUCE and STOP.
var textGlobal = regexp.MustCompile(`^c[A-Za-z_][\w.]*\n[A-Za-z_][\w.]*\n(\(|p\d+\n)`)

func notRecordingPickle(sh shape) Identity {
	what := "a pickle of other data"
	if sh.dict && len(sh.keys) > 0 {
		what = "a pickle of a dict with the keys " + keyList(sh.keys)
	}
	return foreign(what, howToRecord)
}

// identifyGlobal names a pickle by what it would import, "torch._utils._rebuild_tensor_v2".
func identifyGlobal(global string) Identity {
	top, _, _ := strings.Cut(global, ".")
	switch {
	case strings.HasPrefix(global, "torch._utils"), strings.HasPrefix(global, "torch.storage"), global == "torch.FloatStorage":
		return foreign("a pickle of PyTorch tensors", checkpointHint)
	case global == "collections.OrderedDict":
		return foreign("a pickle of an OrderedDict, probably a state dict", checkpointHint)
	case top == "torch" || top == "transformers" || top == "peft" || top == "lightning" || top == "pytorch_lightning":
		return foreign(fmt.Sprintf("a pickle of an object of %s", top), checkpointHint)
	case top == "numpy":
		return foreign("a pickle of NumPy arrays", howToRecord)
	case top == "pandas" || top == "sklearn" || top == "joblib":
		return foreign(fmt.Sprintf("a pickle of an object of %s", top), howToRecord)
	case global == "":
		return foreign("a pickle of Python objects", howToRecord)
	}
	return foreign("a pickle of Python objects ("+quoted(global)+")", howToRecord)
}
