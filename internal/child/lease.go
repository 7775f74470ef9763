package child

import (
	"fmt"
	"strconv"
)

// Variables by which a program, and what it starts, know the lease that they are under.
const (
	LeaseVariable   = "ULLAGE_LEASE"         // its number
	EpochVariable   = "ULLAGE_LEASE_EPOCH"   // the number of its grant: a lease that was granted anew has another
	MemoryVariable  = "ULLAGE_LEASE_MEMORY"  // bytes on each device, for all processes of the job together
	ContextVariable = "ULLAGE_LEASE_CONTEXT" // bytes of it that a CUDA context is expected to take
)

// defaultContextBytes is what a context takes where the agent does not say, as its own setting has it.
const defaultContextBytes = 768 << 20

// Lease is what the agent has granted to a run.
type Lease struct {
	ID           int64 `json:"id"`
	Epoch        int64 `json:"epoch"`
	MemoryBytes  int64 `json:"memory_bytes"`  // on each device; 0 where it is not known, and is then not limited
	ContextBytes int64 `json:"context_bytes"` // that a process is expected to take besides its allocator
}

// LeaseOf returns the lease that an environment tells of, nil where there is none. env reads
// the environment.
func LeaseOf(env func(string) (string, bool)) (*Lease, error) {
	if id, _ := env(LeaseVariable); id == "" {
		return nil, nil
	}
	l := Lease{ContextBytes: defaultContextBytes}
	for _, v := range []struct {
		name string
		into *int64
	}{{LeaseVariable, &l.ID}, {EpochVariable, &l.Epoch}, {MemoryVariable, &l.MemoryBytes}, {ContextVariable, &l.ContextBytes}} {
		text, _ := env(v.name)
		if text == "" {
			continue
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("%s: expected a whole number, found %q", v.name, text)
		}
		*v.into = n
	}
	return &l, nil
}

// Environ is what tells a program of the lease, as NAME=VALUE.
func (l *Lease) Environ() []string {
	number := func(name string, n int64) string { return name + "=" + strconv.FormatInt(n, 10) }
	return []string{
		number(LeaseVariable, l.ID), number(EpochVariable, l.Epoch),
		number(MemoryVariable, l.MemoryBytes), number(ContextVariable, l.ContextBytes),
	}
}
