package enforce

// Whole is a lease of all of a device: of a MIG instance, or of a GPU. More than is there
// cannot be had.
type Whole struct{}

// Name is part of Enforcer.
func (Whole) Name() string { return "whole" }

// Grade is part of Enforcer.
func (Whole) Grade() Grade { return Hardware }

// InForce tells whether the share is all of the device, and the device's memory its own.
// Compute instances of one GPU instance are not kept apart in memory.
func (Whole) InForce(s Share) bool {
	return s.CapacityBytes > 0 && s.Bytes >= s.CapacityBytes && !s.Divided
}

// Fraction is the memory fraction of PyTorch's allocator, which `ullage run` sets to what
// the agent says that is left of the lease.
type Fraction struct{}

// Name is part of Enforcer.
func (Fraction) Name() string { return "fraction" }

// Grade is part of Enforcer.
func (Fraction) Grade() Grade { return Self }

// InForce tells whether every process on the share keeps a limit, and all that they may take
// together fits in it. A process that says nothing can take anything. Before there is a
// process, there is nobody who keeps a limit.
func (Fraction) InForce(s Share) bool {
	left := s.Bytes
	for _, m := range s.Members {
		if m.LimitBytes == nil {
			return false
		}
		left -= *m.LimitBytes + m.OutsideBytes
	}
	return len(s.Members) > 0 && left >= 0
}

// Watching compares what the driver shows with the lease, at every look.
type Watching struct{}

// Name is part of Enforcer.
func (Watching) Name() string { return "watching" }

// Grade is part of Enforcer.
func (Watching) Grade() Grade { return Watched }

// InForce is true: nothing can be done to undo it.
func (Watching) InForce(Share) bool { return true }
