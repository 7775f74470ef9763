package client

import "encoding/json"

// Events answers GET /v1/events: what was decided, oldest first.
type Events struct {
	Events []Event `json:"events"`
	// Next is the since of the next page. Where it is that of this one, there is no more yet.
	Next int64 `json:"next"`
}

// Event is one decision, as docs/formats/ledger.md describes it.
type Event struct {
	Seq   int64           `json:"seq"`
	Time  string          `json:"time"` // RFC 3339 in UTC, with milliseconds
	Actor string          `json:"actor"`
	Kind  string          `json:"kind"`
	Lease int64           `json:"lease,omitempty"`
	Body  json.RawMessage `json:"body"`
}
