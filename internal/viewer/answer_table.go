package viewer

import (
	"errors"
	"math"
	"strings"

	"github.com/ullage-dev/ullage/internal/table"
)

// answerTable answers with rows of a table.
func answerTable(d *Device, q *query) (any, error) {
	r := table.Request{
		What: table.What(q.part("what")), Query: q.text("q"), Sort: q.text("sort"),
		From: q.number("from", 0, 0, math.MaxInt32), Count: q.number("count", 100, 1, table.MaxCount),
	}
	if q.has("event") {
		at := q.event("event", d, -1)
		r.At = &at
	}
	if q.has("range") {
		r.Range = q.eventRange("range", d)
	}
	if q.err != nil {
		return nil, q.err
	}
	a, err := d.made.tables().Ask(r)
	return a, tableError(err)
}

// tableError turns an error of a table into one for the client.
func tableError(err error) error {
	var word *table.QueryError
	var request *table.RequestError
	switch {
	case errors.As(err, &word):
		return &statusError{status: 400, message: word.Message, place: &place{word.At, word.Length}}
	case errors.As(err, &request):
		return badRequestf("%s", request.Message)
	}
	return err
}

// eventRange returns a parameter that is two events, "12-345", both included. Before the
// first is "-1-345".
func (q *query) eventRange(name string, d *Device) *[2]int {
	text := q.text(name)
	cut := strings.LastIndexByte(text, '-')
	if cut <= 0 {
		q.fail(badRequestf("%s=%.40q is not two events, as 12-345", name, text))
		return nil
	}
	from := q.inRange(name, text[:cut], -1, d.Events()-1)
	to := q.inRange(name, text[cut+1:], from, d.Events()-1)
	return &[2]int{from, to}
}
