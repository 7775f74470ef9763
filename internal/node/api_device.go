package node

import (
	"net/http"
	"time"

	"github.com/ullage-dev/ullage/internal/client"
	"github.com/ullage-dev/ullage/internal/lease"
)

// getDevices answers GET /v1/devices.
func (a *Agent) getDevices(q *question) (any, error) {
	if _, err := query(q.Request); err != nil {
		return nil, err
	}
	var answer client.Devices
	a.Ledger.View(func(b *lease.Book) { answer.Devices = clientDevices(b, a.now()) })
	return answer, nil
}

// postCordon answers POST /v1/devices/{uuid}/cordon.
func (a *Agent) postCordon(q *question) (any, error) { return a.cordon(q, true) }

// postUncordon answers POST /v1/devices/{uuid}/uncordon.
func (a *Agent) postUncordon(q *question) (any, error) { return a.cordon(q, false) }

func (a *Agent) cordon(q *question, on bool) (any, error) {
	if err := readBody(q.w, q.Request, &struct{}{}); err != nil {
		return nil, err
	}
	return a.changeDevice(q, func(b *lease.Book, atMS int64, uuid string) ([]lease.Event, error) {
		return b.Cordon(atMS, q.who.user, uuid, on)
	})
}

// maxGraceMS is as long as a lease may live at most.
const maxGraceMS = int64(lease.LongestTTL / time.Millisecond)

// postDrain answers POST /v1/devices/{uuid}/drain.
func (a *Agent) postDrain(q *question) (any, error) {
	var d client.Drain
	if err := readBody(q.w, q.Request, &d); err != nil {
		return nil, err
	}
	if d.GraceMS < 0 || d.GraceMS > maxGraceMS {
		return nil, invalidf("grace_ms %d: expected 0 to %d", d.GraceMS, maxGraceMS)
	}
	return a.changeDevice(q, func(b *lease.Book, atMS int64, uuid string) ([]lease.Event, error) {
		return b.Drain(atMS, q.who.user, uuid, atMS+d.GraceMS)
	})
}

// changeDevice runs a decision about the device of a question's path, and answers with what it
// is then.
func (a *Agent) changeDevice(q *question, decision func(b *lease.Book, atMS int64, uuid string) ([]lease.Event, error)) (any, error) {
	if _, err := query(q.Request); err != nil {
		return nil, err
	}
	ctx, cancel := q.lasting(decisionTime)
	defer cancel()
	var device client.Device
	var found bool
	uuid := q.PathValue("uuid")
	_, err := a.decide(ctx, func(b *lease.Book, atMS int64) ([]lease.Event, error) {
		events, err := decision(b, atMS, uuid)
		device, found = deviceNamed(b, a.now(), uuid)
		return events, err
	})
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, refusef(http.StatusNotFound, codeUnknown, "there is no device %.80q", uuid)
	}
	return device, nil
}
