package node

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ullage-dev/ullage/internal/client"
	"github.com/ullage-dev/ullage/internal/units"
)

// full is a world whose GPUs are leased, with a request that waits.
func full(t *testing.T) (w *world, ann *person, waits client.Lease) {
	w = newWorld(t, nil)
	ann = w.as(annUID)
	for range 2 {
		ann.lease(client.Request{MemoryBytes: 80 * units.GiB})
	}
	return w, ann, ann.lease(client.Request{MemoryBytes: units.GiB})
}

// later asks in the background, and returns where the answer comes.
func (u *person) later(path string) <-chan client.Lease {
	answer := make(chan client.Lease, 1)
	go func() {
		defer close(answer) // also when the question fails
		var l client.Lease
		u.ask("GET", path, nil, 200, &l)
		answer <- l
	}()
	return answer
}

// TestWait: the answer comes when the state changes, when the time is over, or at once where
// the state is another already.
func TestWait(t *testing.T) {
	w, ann, waits := full(t)
	path := fmt.Sprintf("/v1/leases/%d", waits.ID)
	var l client.Lease
	ann.ask("GET", path+"?wait=60000&from=granted", nil, 200, &l)
	if l.State != "queued" {
		t.Errorf("it is %s, and the question was for no longer granted", l.State)
	}

	inTime := ann.later(path + "?wait=5000&from=queued")
	until(t, "a question that waits", func() bool { return w.waiting() == 1 })
	w.clock.Advance(4999 * time.Millisecond)
	ann.ask("POST", "/v1/leases", client.Request{MemoryBytes: units.GiB}, 201, nil) // changes something else
	select {
	case l := <-inTime:
		t.Fatalf("an answer before its time: %+v", l)
	default:
	}
	w.clock.Advance(time.Millisecond)
	if l := <-inTime; l.State != "queued" {
		t.Errorf("when the time was over: %+v", l)
	}

	granted := ann.later(path + "?wait=60000&from=queued")
	unnamed := ann.later(path + "?wait=60000")
	until(t, "two questions that wait", func() bool { return w.waiting() == 2 })
	ann.ask("DELETE", "/v1/leases/1", nil, 200, nil)
	w.free(1)
	if l := <-granted; l.State != "granted" || len(l.Shares) != 1 {
		t.Errorf("when it was granted: %+v", l)
	}
	if l := <-unnamed; l.State != "granted" {
		t.Errorf("without from, when it was granted: %+v", l)
	}
	if n := w.waiting(); n != 0 {
		t.Errorf("%d questions are left", n)
	}
}

// TestWaitGone: a client that hangs up while it waits leaves nothing behind; one that closes
// its half, as a shell script may, still gets an answer.
func TestWaitGone(t *testing.T) {
	w, ann, waits := full(t)
	ask := fmt.Sprintf("GET /v1/leases/%d?wait=60000&from=queued HTTP/1.1\r\nHost: agent\r\n\r\n", waits.ID)
	for _, half := range []bool{false, true} {
		before := w.connections()
		c, err := ann.dial()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write([]byte(ask)); err != nil {
			t.Fatal(err)
		}
		until(t, "a question that waits", func() bool { return w.waiting() == 1 })
		if half {
			if err := c.CloseWrite(); err != nil {
				t.Fatal(err)
			}
			answer, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil || answer.StatusCode != 200 {
				t.Fatalf("with its half closed: %v, %v", answer, err)
			}
			if text, err := io.ReadAll(answer.Body); err != nil || !strings.Contains(string(text), `"state":"queued"`) {
				t.Errorf("with its half closed: %s, %v", text, err)
			}
		}
		c.Close()
		until(t, "nobody waits", func() bool { return w.waiting() == 0 && w.connections() == before })
	}
}

// TestWaitEnds: an agent that ends answers those who wait, and does not wait for them.
func TestWaitEnds(t *testing.T) {
	w, ann, waits := full(t)
	answer := ann.later(fmt.Sprintf("/v1/leases/%d?wait=60000&from=queued", waits.ID))
	until(t, "a question that waits", func() bool { return w.waiting() == 1 })
	w.stop()
	if l := <-answer; l.State != "queued" {
		t.Errorf("%+v", l)
	}
}

// TestWaitLate: a change between the look and the wait is not missed, however the two fall. The
// clock stands still, so one that is missed is never answered.
func TestWaitLate(t *testing.T) {
	w := newWorld(t, nil)
	ann := w.as(0)
	r := client.Request{MemoryBytes: 80 * units.GiB, Device: "GPU-0"}
	holds := ann.lease(r)
	for range 100 {
		next := ann.lease(r)
		answer := ann.later(fmt.Sprintf("/v1/leases/%d?wait=60000&from=queued", next.ID))
		ann.ask("DELETE", fmt.Sprintf("/v1/leases/%d", holds.ID), nil, 200, nil)
		w.free(holds.ID)
		if holds = <-answer; holds.State != "granted" || holds.ID != next.ID {
			t.Fatalf("%+v", holds)
		}
	}
}
