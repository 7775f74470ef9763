package viewer

import (
	"context"
	"encoding/hex"
	"sync"

	"github.com/ullage-dev/ullage/internal/analyze"
	"github.com/ullage-dev/ullage/internal/report"
	"github.com/ullage-dev/ullage/snapshot"
)

// File is a recording to be shown.
type File struct {
	Name string // as it is called in the output
	Rank int    // -1 where nothing tells

	// Read reads, replays and explains it, and tells note how far it has come. It is called
	// again only when Changed has told that there is something else to read, and never by two
	// at a time.
	Read func(ctx context.Context, note func(Stage, float64)) (*Read, error)

	// Changed tells whether the file is no longer the one that was read. It is called
	// often, also while the file is read again, and may be nil.
	Changed func() bool
}

// Read is what reading a file came to.
type Read struct {
	Rec *snapshot.Recording
	ID  []byte // differs for whatever makes any answer differ

	// Argument names the file in a command line, quoted; "" where no command can read it
	// again, as from standard input.
	Argument string
	Devices  []Explained
}

// Explained is a device of a recording, explained.
type Explained struct {
	*analyze.Explanation
	CapacityBytes int64 // of the device; 0 where nothing tells
	LimitBytes    int64 // what the process was allowed to reserve; 0 where nothing tells
}

// Stage is how far a recording has come.
type Stage string

// Stages, in their order; the last two are ends.
const (
	Waiting   Stage = "waiting"
	Reading   Stage = "reading"
	Replaying Stage = "replaying"
	Ready     Stage = "ready"
	Failed    Stage = "failed"
)

// parallel is how many files are read at a time. Reading one keeps two cores busy: one
// reads, the other replays.
const parallel = 2

// session is the recordings of one run of the command.
type session struct {
	mu         sync.Mutex
	recordings []*recording
	byID       map[string][]*Device // of all that was read, and of what is being read anew
	ranks      *report.RanksJSON    // nil until all are read
	changed    chan struct{}        // closed at the next change
}

// recording is one file and how far it has come. What it has of what was read is that of the
// latest reading, and is not there before it has ended.
type recording struct {
	file     File
	index    int
	stage    Stage
	progress float64
	err      error
	id       string
	rank     int
	devices  []*Device // when ready
	before   string    // id of what was read before, which byID still has; "" for none
}

func newSession(files []File) *session {
	s := &session{byID: make(map[string][]*Device), changed: make(chan struct{})}
	for i, f := range files {
		s.recordings = append(s.recordings, &recording{file: f, index: i, stage: Waiting, rank: f.Rank})
	}
	return s
}

// load reads all files, and returns when that is done or ctx has ended.
func (s *session) load(ctx context.Context) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, parallel)
	for _, r := range s.recordings {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			s.loadOne(ctx, r)
		})
	}
	wg.Wait()
	s.compareRanks()
}

// loadChanged reads the files anew that are others by now than those that were read, in the
// background and until life has ended. Pages that show what was read before can go on until
// the new is there.
func (s *session) loadChanged(life context.Context) {
	var again []*recording
	for _, r := range s.recordings {
		if r.file.Changed == nil || !s.settled(r) || !r.file.Changed() {
			continue
		}
		s.change(func() {
			if r.stage == Ready || r.stage == Failed { // and no other page was faster
				again = append(again, r)
				if r.id != "" {
					r.before = r.id
				}
				r.stage, r.progress, r.err, r.id, r.devices = Waiting, 0, nil, "", nil
				s.ranks = nil
			}
		})
	}
	if len(again) == 0 {
		return
	}
	go func() {
		for _, r := range again {
			s.loadOne(life, r)
		}
		s.compareRanks()
	}()
}

// settled tells whether a file was read to its end.
func (s *session) settled(r *recording) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return r.stage == Ready || r.stage == Failed
}

func (s *session) loadOne(ctx context.Context, r *recording) {
	read, err := r.file.Read(ctx, func(stage Stage, progress float64) {
		s.change(func() { r.stage, r.progress = stage, min(max(progress, 0), 1) })
	})
	if err != nil {
		s.change(func() { r.stage, r.progress, r.err = Failed, 0, err })
		return
	}
	id := hex.EncodeToString(read.ID)
	devices := newDevices(ctx, read, id)
	s.change(func() {
		r.id, r.devices, r.rank = id, devices, read.Rec.Source.Rank
		r.stage, r.progress = Ready, 1
		delete(s.byID, r.before)
		s.byID[id] = devices
	})
}

// compareRanks compares what was read as the ranks of one job, as explain does.
func (s *session) compareRanks() {
	var rows []analyze.RankRow
	for _, d := range s.devices() {
		rows = append(rows, d.X.Row())
	}
	if len(rows) == 0 {
		return
	}
	ranks := report.NewRanksJSON(analyze.CompareRanks(rows))
	s.change(func() { s.ranks = ranks })
}

// change makes a change and tells those who wait for one.
func (s *session) change(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do()
	close(s.changed)
	s.changed = make(chan struct{})
}

// next returns what is closed at the next change.
func (s *session) next() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// failures returns why files cannot be shown, in their order.
func (s *session) failures() (errs []error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.recordings {
		if r.err != nil {
			errs = append(errs, r.err)
		}
	}
	return errs
}

// device finds a device by what its path names. The error is one for the client.
func (s *session) device(id string, dev int) (*Device, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	devices, ok := s.byID[id]
	switch {
	case !ok && s.reading():
		return nil, statusErrorf(409, "recording %.64q is not here, or is still being read", id)
	case !ok:
		return nil, statusErrorf(404, "no recording %.64q; 'session' lists those there are", id)
	case dev >= len(devices):
		return nil, statusErrorf(404, "no device %d of recording %.64q; the last is %d", dev, id, len(devices)-1)
	}
	return devices[dev], nil
}

// reading tells whether some file is not read yet.
func (s *session) reading() bool {
	for _, r := range s.recordings {
		if r.stage != Ready && r.stage != Failed {
			return true
		}
	}
	return false
}
