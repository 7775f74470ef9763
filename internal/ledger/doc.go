// Package ledger keeps a [lease.Book] on disk, so that what was acknowledged outlives the
// process and the power.
//
// # What is stored
//
// One SQLite file, described in docs/formats/ledger.md. The events are the truth: the book is
// their fold. They are only ever added, which makes them the audit table too. Snapshots of the book
// spare a start the replay of all events. Tables of leases, devices and holdings say the same again
// in a form that SQL can add up; their constraints and triggers check each transaction a second
// time, apart from the code of package lease.
//
// # Decisions
//
// [Ledger.Do] runs a decision on the book and returns when its events are on disk. One goroutine
// takes what waits, decides all of it, writes the events in one transaction and commits: a commit costs
// one fsync however many decisions are in it, and the busier the ledger is, the more share one.
// If the transaction cannot be stored, none of its decisions is, the book is read again from disk,
// and all who wait get an error. What was not acknowledged may be stored or not when the process
// dies in between, but whole; a request with a key can be sent again to find out.
//
// # One writer
//
// Open takes a lock on a file beside the ledger that the system gives back when the process
// ends, however it ends: flock on Unix, LockFileEx on Windows. A second opener is refused.
// Neither is to be trusted on network file systems.
package ledger
