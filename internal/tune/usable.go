package tune

import (
	"errors"
	"fmt"

	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/snapshot"
)

// Recordings that cannot be replayed.
var (
	ErrHost     = errors.New("pinned host memory has no allocator settings to replay")
	ErrNoEvents = errors.New("the recording has no history of requests, only the state at the dump, so that there is nothing to replay")
	ErrNoAllocs = errors.New("the recording has no alloc events (it keeps the state only, or skip_actions left them out): without requests there is nothing to replay")
	ErrNoFrees  = errors.New("the recording has no free_completed events (skip_actions may have left them out): blocks would never be freed")
)

// usable tells why a recording cannot be replayed.
func usable(tl *timeline.Timeline) error {
	e := tl.Dev.Events
	if tl.Dev.Kind == snapshot.Host {
		return ErrHost
	}
	if e.Len() == 0 {
		return ErrNoEvents
	}
	var count [int(snapshot.Annotate) + 1]int
	var b snapshot.Batch
	for k := range e.Chunks() {
		e.Chunk(k, &b)
		for _, a := range b.Action {
			if int(a) < len(count) {
				count[a]++
			}
		}
	}
	switch {
	case count[snapshot.Alloc]+count[snapshot.FreeRequested]+count[snapshot.FreeCompleted] == 0:
		return ErrNoEvents
	case count[snapshot.Alloc] == 0:
		return ErrNoAllocs
	case count[snapshot.FreeCompleted] == 0 && count[snapshot.FreeRequested] > 0:
		return ErrNoFrees
	case e.Len() > maxEvents:
		return fmt.Errorf("the recording has %d events, and at most %d can be replayed", e.Len(), maxEvents)
	}
	return nil
}

// maxEvents is what an op can name.
const maxEvents = 1<<31 - 1
