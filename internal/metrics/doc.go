// Package metrics shows the agent's state to Prometheus: what fills the memory of every
// device, the leases on it, and what the jobs told of PyTorch's allocator, which no driver
// knows. docs/metrics.md lists every metric; a test compares it with this package.
//
// A [Source] gives the state, [Counters] keep what happened between two scrapes, and
// [Metrics.Handler] answers a scrape from the two. Nothing is asked of a driver then: a
// scrape costs the same however many GPUs hang.
//
// # What is not known is absent
//
// A zero is a measurement. What a driver does not tell, what a process never reported and
// what was read too long ago has no series at all, so that sums and alerts are about what is
// known. Series of a lease, job or process end with it.
//
// # Labels
//
// Amounts carry the GPU's uuid, and gpu_instance where they are of a MIG instance; names
// and all that rarely changes stand on info metrics, to be joined by uuid or lease. The
// name of a job is the label job_name, because Prometheus calls the scraped target job.
//
// Label values come from users. They are cleaned, cut to a length, and there is a limit on
// how many leases, jobs and processes have series; what was left out is counted.
package metrics
