// Package node is the agent of a machine: it watches the GPUs, hands out their memory as
// leases, and answers programs on a Unix socket.
//
// # What is where
//
// Who may have what is decided by package lease and kept by package ledger: every decision
// goes through Agent.decide, which is durable when it returns and wakes whoever waits for the
// lease. What the machine looks like is a view: the loop reads the probe, joins it with the
// leases and the processes, and puts a new view in the place of the old one. A view never
// changes, so that the API and the metrics read it without a lock.
//
// The API (api*.go) is HTTP/1.1 with JSON, described in docs/api.md. Who asks is read from
// the socket; nothing that a client says of itself is believed.
package node
