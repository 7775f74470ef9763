package tune

import (
	"github.com/ullage-dev/ullage/allocator"
	"github.com/ullage-dev/ullage/snapshot"
)

// Torch is the release of PyTorch that is simulated, and what a recording shows of the
// one that made it: no recording names it.
type Torch struct {
	Version allocator.Version
	Given   bool
	Oldest  allocator.Version // that could have written such a file; the zero Version for any
	Newest  allocator.Version // likewise
	Why     string            // what in the file says that it is no newer; empty for nothing
}

// torchMarks are what a file shows of the release that wrote it.
var torchMarks = []struct {
	shown          func(*snapshot.Recording) bool
	oldest, newest allocator.Version // the zero Version says nothing
	why            string
}{
	{func(r *snapshot.Recording) bool { return r.Settings == nil }, none, minor(2), "it has no allocator_settings"},
	{func(r *snapshot.Recording) bool { return r.Settings != nil }, minor(3), none, "it has allocator_settings"},
	{func(r *snapshot.Recording) bool { return len(r.Annotations) > 0 }, minor(5), none, "it has external_annotations"},
	{func(r *snapshot.Recording) bool {
		return eachTrace(r, func(e *snapshot.Events) bool { return e.HasPools })
	}, minor(12), none, "its events name their pool"},
	{func(r *snapshot.Recording) bool {
		return eachTrace(r, func(e *snapshot.Events) bool { return !e.HasPools })
	}, none, minor(11), "its events do not name their pool"},
	{func(r *snapshot.Recording) bool {
		return eachTrace(r, func(e *snapshot.Events) bool { return !e.HasTimes })
	}, none, minor(1), "its events have no time"},
}

var none allocator.Version

func minor(n int) allocator.Version { return allocator.Version{Major: 2, Minor: n} }

// eachTrace tells whether something holds of all traces that have events, if any do.
func eachTrace(r *snapshot.Recording, holds func(*snapshot.Events) bool) bool {
	some := false
	for _, d := range r.Devices {
		if d.Kind == snapshot.Host || d.Events.Len() == 0 {
			continue
		}
		if !holds(d.Events) {
			return false
		}
		some = true
	}
	return some
}

// AssumeTorch returns the newest release that can have made a recording.
func AssumeTorch(rec *snapshot.Recording) Torch {
	t := Torch{Newest: allocator.Newest}
	for _, m := range torchMarks {
		if !m.shown(rec) {
			continue
		}
		if m.newest != none && less(m.newest, t.Newest) {
			t.Newest, t.Why = m.newest, m.why
		}
		if m.oldest != none && less(t.Oldest, m.oldest) {
			t.Oldest = m.oldest
		}
	}
	t.Version = t.Newest
	return t
}

// GivenTorch returns a release that the user names, with what the recording shows.
func GivenTorch(v allocator.Version, rec *snapshot.Recording) Torch {
	t := AssumeTorch(rec)
	t.Version, t.Given = v, true
	return t
}

// Contradicted tells whether the recording cannot come from the release that is simulated.
func (t *Torch) Contradicted() bool {
	return less(t.Version, t.Oldest) || less(t.Newest, t.Version)
}

func less(a, b allocator.Version) bool { return !a.AtLeast(b.Major, b.Minor) }
