// Package lease is the state machine behind GPU memory that is handed out with a promise: who
// holds how much of which device, who waits, and who is next.
//
// It is pure. A [Book] is the fold of its events and of nothing else: every decision (Submit,
// Release, Tick, ...) looks at the book and at the time that it is given, and applies and
// returns the events that follow; [Book.Apply] is deterministic and refuses an event that
// cannot be. So a ledger that keeps the events has everything, and a restart is a replay.
//
// # Amounts and times
//
// Memory is given out in whole MiB: requests, foreign use and reserves are rounded up, capacity
// down. Times are milliseconds since the Unix epoch, on a clock that the caller keeps from
// running backwards; a decision that is given an earlier time than the last uses the last.
//
// # States
//
//	queued ──▶ granted ──▶ draining ──▶ ended
//	   └───────────────────────────────▶ ended
//
// A lease holds memory while granted and while draining: its holder is gone, has released it or
// has run out of time, but nobody has seen yet that the driver took the memory back. Only that,
// Freed, ends it. A lease that has ended never comes back; ids are not used twice.
//
// # Capacity
//
// On every device, capacity ≥ memory of foreign processes + Σ over queues of max(what is granted
// to the queue, what is reserved for it). No grant breaks that. Foreign memory may rise by itself;
// then nothing is granted there until it fits again, but what is left of a reserve, to its queue. Where
// capacity shrinks, or a reserve grows, below what is granted, nothing is.
//
// # Order
//
// A request's rank is its time of submission less its priority × [Policy.AgeMS]: a point of
// priority is worth that much waiting, so each request is overtaken for a bounded time only. The
// first in rank that waits for memory, and could have it if others ended, is the head. Requests
// that their own quota holds back, or for which every device is missing or cordoned, are passed over.
//
// Behind a head, a request starts only where that cannot make the head start later, however and
// whenever the leases of now end: see guard. That is stricter than the usual backfill, which trusts
// the declared ends of jobs; leases mostly have none.
package lease
