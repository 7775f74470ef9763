package node

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/ullage-dev/ullage/internal/gpu"
	"github.com/ullage-dev/ullage/internal/holder/holdertest"
)

// TestNames: a name is asked for again when it is old, and what was said last holds while nobody
// tells another one.
func TestNames(t *testing.T) {
	clock := holdertest.NewClock(time.Unix(1_800_000_000, 0))
	asked, says := 0, "ann"
	var fault error
	n := names{clock: clock, known: map[int]known{}, ask: func(string) (string, error) {
		asked++
		return says, fault
	}}
	for _, step := range []struct {
		what  string
		later time.Duration
		says  string
		fault error
		want  string // empty: an error
		asked int
	}{
		{"the server is away at first", 0, "", errors.New("away"), "", 1},
		{"nobody has the number", 0, "", errUnnamed, "1001", 2},
		{"somebody gets it", 0, "ann", nil, "ann", 3},
		{"it is not asked again", gpu.NamesAge - 1, "bob", nil, "ann", 3},
		{"it was given to another", 1, "bob", nil, "bob", 4},
		{"the server is away", gpu.NamesAge, "", errors.New("away"), "bob", 5},
		{"it is not asked at every question then", time.Second, "", errors.New("away"), "bob", 5},
		{"the user was deleted", gpu.NamesAge, "", errUnnamed, "bob", 6},
		{"and the number given away", gpu.NamesAge, "eve", nil, "eve", 7},
	} {
		clock.Advance(step.later)
		says, fault = step.says, step.fault
		got, err := n.of(1001)
		if got != step.want || (err != nil) != (step.want == "") || asked != step.asked {
			t.Errorf("%s: %q, %v, asked %d times; want %q, %d", step.what, got, err, asked, step.want, step.asked)
		}
	}
}

// TestNamesWait: while a name is being asked for again, others are told the old one.
func TestNamesWait(t *testing.T) {
	clock := holdertest.NewClock(time.Unix(1_800_000_000, 0))
	asking, answer := make(chan struct{}), make(chan struct{})
	n := names{clock: clock, known: map[int]known{1001: {"ann", clock.Now()}}, ask: func(string) (string, error) {
		close(asking)
		<-answer
		return "bob", nil
	}}
	clock.Advance(gpu.NamesAge)
	var first sync.WaitGroup
	first.Go(func() {
		if got, err := n.of(1001); got != "bob" || err != nil {
			t.Errorf("who asked got %q, %v", got, err)
		}
	})
	<-asking
	if got, err := n.of(1001); got != "ann" || err != nil {
		t.Errorf("who came meanwhile got %q, %v", got, err)
	}
	close(answer)
	first.Wait()
}
