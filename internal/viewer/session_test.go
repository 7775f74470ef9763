package viewer

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// small is a recording with a failed allocation, and little else.
const small = "gpu/oom_checkerboard.pickle.xz"

func TestSession(t *testing.T) {
	golden(t, "session", answerTo(t, serve(t, small), "session"))
}

func TestSessionOfRanks(t *testing.T) {
	s := serve(t, "recordings/ddp-rank0.pickle.xz", "recordings/ddp-rank1.pickle.xz")
	got := answerJSON[sessionJSON](t, s, "session")
	if got.Ranks == nil || len(got.Ranks.Rows) != 2 {
		t.Errorf("ranks: %+v", got.Ranks)
	}
	for i, r := range got.Recordings {
		if r.Rank == nil || *r.Rank != i || r.Index != i {
			t.Errorf("recording %d: rank %v, index %d", i, r.Rank, r.Index)
		}
	}
}

func TestDevice(t *testing.T) {
	s := serve(t, small)
	golden(t, "device", answerTo(t, s, first(t, s)))
}

// gate is a file whose reading waits.
type gate struct {
	started chan struct{}
	end     chan error
}

func newGate() gate { return gate{make(chan struct{}), make(chan error)} }

func (g gate) file(name string) File {
	return File{Name: name, Rank: -1, Read: func(ctx context.Context, note func(Stage, float64)) (*Read, error) {
		note(Reading, 0.25)
		close(g.started)
		select {
		case err := <-g.end:
			return nil, err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}}
}

// TestLoading: two files are read at a time, others wait; one that is read can be looked at
// while others are not, and one that cannot be read says why.
func TestLoading(t *testing.T) {
	a, b := newGate(), newGate()
	s := newServer(t, testdata(small), a.file("a"), b.file("b"), testdata("gpu/no_stacks.pickle.xz"))
	done := make(chan []error)
	go func() { done <- s.Load(t.Context()) }()
	<-a.started
	<-b.started
	session := answerJSON[sessionJSON](t, s, "session")
	var states []Stage
	for _, r := range session.Recordings {
		states = append(states, r.State)
	}
	if want := []Stage{Ready, Reading, Reading, Waiting}; !slices.Equal(states, want) {
		t.Errorf("states %v, want %v", states, want)
	}
	if p := session.Recordings[1].Progress; p != 0.25 {
		t.Errorf("progress %v", p)
	}
	answerTo(t, s, first(t, s))
	if r := ask(s, api+"rec/6e6f/0", nil); r.status != http.StatusConflict {
		t.Errorf("a recording that may be among those being read: status %d", r.status)
	}

	a.end <- errors.New("a is not a recording")
	b.end <- errors.New("b is not a recording")
	errs := <-done
	session = answerJSON[sessionJSON](t, s, "session")
	if len(errs) != 2 || session.Recordings[1].State != Failed || *session.Recordings[1].Error != "a is not a recording" {
		t.Errorf("errors %v, recording %+v", errs, session.Recordings[1])
	}
	if r := session.Recordings[3]; r.State != Ready {
		t.Errorf("the last file: %+v", r)
	}
	if r := ask(s, api+"rec/6e6f/0", nil); r.status != http.StatusNotFound {
		t.Errorf("a recording that is none of those read: status %d", r.status)
	}
}

// TestChanged: a file that is another one by now is marked, and what was read stays.
func TestChanged(t *testing.T) {
	f := testdata(small)
	changed := false
	f.Changed = func() bool { return changed }
	s := newServer(t, f)
	if errs := s.Load(t.Context()); len(errs) > 0 {
		t.Fatal(errs)
	}
	for _, want := range []bool{false, true} {
		changed = want
		if got := answerJSON[sessionJSON](t, s, "session").Recordings[0].Changed; got != want {
			t.Errorf("changed is %v, want %v", got, want)
		}
	}
	answerTo(t, s, first(t, s))
}

// TestReadAgain: when the page is reloaded, a file that has changed is read anew. Pages that
// show what was there before can until then, and a file that could not be read may be now.
func TestReadAgain(t *testing.T) {
	var changed atomic.Bool
	f, names, end := testdata(small), []string{small, "gpu/no_stacks.pickle.xz"}, make(chan error)
	f.Changed = changed.Load
	f.Read = func(ctx context.Context, note func(Stage, float64)) (*Read, error) {
		changed.Store(false)
		if err := <-end; err != nil {
			return nil, err
		}
		name := names[0]
		names = names[1:]
		return testdata(name).Read(ctx, note)
	}
	s := newServer(t, f)
	go s.Load(t.Context())
	end <- nil
	reads(t, s, Ready)
	before := first(t, s)

	ask(s, "/", nil)
	if r := answerJSON[sessionJSON](t, s, "session").Recordings[0]; r.State != Ready {
		t.Fatalf("a file that has not changed is %s after the page was reloaded", r.State)
	}
	changed.Store(true)
	ask(s, "/", nil)
	ask(s, "/", nil) // of another tab
	answerTo(t, s, before)
	end <- errors.New("half of it is written")
	reads(t, s, Failed)
	answerTo(t, s, before)
	changed.Store(true)
	ask(s, "/", nil)
	end <- nil
	reads(t, s, Ready)
	after := first(t, s)
	if answerTo(t, s, after); after == before {
		t.Errorf("the path is %s as before", after)
	}
	if r := ask(s, api+before, nil); r.status != http.StatusNotFound {
		t.Errorf("what is no longer shown: status %d", r.status)
	}
}

// reads waits until the first file is read.
func reads(t *testing.T, s *Server, want Stage) {
	t.Helper()
	for {
		next := s.session.next()
		r := answerJSON[sessionJSON](t, s, "session").Recordings[0]
		if r.State == Ready || r.State == Failed {
			if r.State != want {
				t.Fatalf("the file is %s, want %s", r.State, want)
			}
			return
		}
		select {
		case <-next:
		case <-t.Context().Done():
			t.Fatal("the file is never read")
		}
	}
}

// TestProgress: a page that waits is told of the beginning and of every change, and the
// connection ends with the server.
func TestProgress(t *testing.T) {
	g := newGate()
	s := newServer(t, g.file("a"))
	ctx, cancel := context.WithCancel(t.Context())
	l, err := Listen(0)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- s.Serve(ctx, l) }()
	resp, err := http.Get("http://" + l.Addr().String() + api + "progress")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if kind := resp.Header.Get("Content-Type"); kind != "text/event-stream" {
		t.Errorf("Content-Type %q", kind)
	}
	messages := readMessages(resp.Body)
	if m := <-messages; !strings.Contains(m, `"state":"waiting"`) {
		t.Errorf("first message: %s", m)
	}
	go s.Load(ctx)
	<-g.started
	g.end <- errors.New("a is not a recording")
	for m := range messages {
		if strings.Contains(m, `"state":"failed"`) {
			break
		}
	}
	cancel()
	for range messages { // ends when the connection does
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestMarks: what is pointed out is what the recording holds, in order.
func TestMarks(t *testing.T) {
	tests := []struct {
		name  string
		count map[string]int
	}{
		{"recordings/bert_varlen-lim16.pickle.xz", map[string]int{"oom": 1, "retry": 2, "annotation": 16}},
		{"gpu/empties_cache.pickle.xz", map[string]int{"annotation": 24}}, // memory is given back, but nobody refused any
		{"gpu/oom_survived.pickle.xz", map[string]int{"oom": 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, tt.name)
			got := map[string]int{}
			last := -1
			for _, m := range answerJSON[deviceJSON](t, s, first(t, s)).Marks {
				got[m.Kind]++
				if m.Event < last || m.Text == "" {
					t.Errorf("%+v after event %d", m, last)
				}
				last = m.Event
			}
			if diff := cmp.Diff(tt.count, got); diff != "" {
				t.Errorf("marks (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTiles: at every level the tiles hold the peak, to the byte, and their last values are
// the ends.
func TestTiles(t *testing.T) {
	s := serve(t, "recordings/vit.pickle.xz")
	d := s.session.devices()[0]
	for level := range d.tiles().MaxLevel + 1 {
		peak := 0.0
		for i := range tileCount(int64(d.Events()), level) {
			tile := answerTo(t, s, fmt.Sprintf("%s/tile/counters/%d/%d", first(t, s), level, i))
			n := int(binary.LittleEndian.Uint32(tile[24:]))
			columns := tile[64:]
			if flags := binary.LittleEndian.Uint32(tile[8:]); flags&2 != 0 {
				columns = columns[8*(n+1):]
			}
			for k := range n { // the second column: the maxima of what is allocated
				peak = max(peak, math.Float64frombits(binary.LittleEndian.Uint64(columns[8*(n+k):])))
			}
		}
		if int64(peak) != d.TL.Peak.Allocated.Bytes {
			t.Errorf("level %d: the most is %.0f bytes, want %d", level, peak, d.TL.Peak.Allocated.Bytes)
		}
	}
}
