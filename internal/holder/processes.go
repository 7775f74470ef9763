package holder

// Process is a process as leases see it.
type Process struct {
	ID
	Parent ID  // when it was first seen; zero if that has ended
	UID    int // real
	Mark   Mark
}

// Mark names the lease that a process was started under: its environment has ULLAGE_LEASE
// and ULLAGE_LEASE_EPOCH. Anybody can set these, so a mark is worth no more than the user
// who made it.
type Mark struct{ Lease, Epoch int64 }

// The variables of a mark.
const (
	LeaseVariable = "ULLAGE_LEASE"
	EpochVariable = "ULLAGE_LEASE_EPOCH"
)

// Changes is what happened to the machine's processes between two looks.
type Changes struct {
	Began   []Process // parents before their children
	Changed []Process // run another program now, with another mark, or for another user
	Ended   []ID
}
