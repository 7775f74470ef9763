package allocator

import "fmt"

// Settings is what an allocator configuration says: the value of
// PYTORCH_ALLOC_CONF, or PYTORCH_CUDA_ALLOC_CONF.
type Settings struct {
	// Config holds what needs no device to be known; LimitBytes and ReserveBytes
	// are set by ForDevice.
	Config Config

	// Backend is "native" or "cudaMallocAsync", which ignores everything else.
	Backend string

	// MemoryFraction is per_process_memory_fraction; 1 is no limit.
	MemoryFraction float64

	// ReserveFraction, where above 0, is expandable_segments_reserve as a share
	// of the device.
	ReserveFraction float64

	// Given lists the options that were named, in order.
	Given []string

	// Warnings are what PyTorch would warn of.
	Warnings []string
}

// ForDevice returns the settings for a device of totalBytes.
func (s *Settings) ForDevice(totalBytes int64) Config {
	c := s.Config
	if s.MemoryFraction < 1 {
		// A fraction of 0 leaves nothing; 0 itself would mean no limit.
		c.LimitBytes = max(int64(s.MemoryFraction*float64(totalBytes)), 1)
	}
	if s.ReserveFraction > 0 {
		c.ReserveBytes = max(int64(s.ReserveFraction*float64(totalBytes)), 1)
	}
	return c
}

// ConfigError is a configuration that PyTorch refuses.
type ConfigError struct {
	Version   Version
	Exception string // the Python exception that CUDA's initialisation raises
	Reason    string // PyTorch's own words
}

// Error gives PyTorch's own words.
func (e *ConfigError) Error() string {
	return fmt.Sprintf("PyTorch %v refuses this configuration: %s: %s", e.Version, e.Exception, e.Reason)
}

// ParseConfig reads a configuration as the given release does, with all that it
// lets pass: spaces are ignored, numbers may be followed by anything, and from 2.9
// on the separators are not looked at. A configuration that the release refuses
// gives a *ConfigError with its reason.
func ParseConfig(v Version, conf string) (*Settings, error) {
	if !v.AtLeast(oldest.Major, oldest.Minor) {
		return nil, fmt.Errorf("PyTorch %v keeps no history of memory: %v or newer is needed", v, oldest)
	}
	p := &confParser{version: v, legacy: !v.AtLeast(2, 9)}
	p.out.Config.Behavior = v.Behavior()
	p.out.Backend = "native"
	p.out.MemoryFraction = 1
	p.tokens = tokenize(conf, p.legacy)
	if p.legacy {
		p.parseLegacy()
	} else {
		p.parseTokens()
	}
	if p.err != nil {
		return nil, p.err
	}
	p.finish()
	return &p.out, nil
}

// finish sets what depends on several options.
func (p *confParser) finish() {
	c := &p.out.Config
	if c.MaxNonSplitRoundingBytes == 0 && !p.version.AtLeast(2, 11) {
		c.MaxNonSplitRoundingBytes = defaultLargeBytes
	}
	if p.out.Backend != "native" && len(p.out.Given) > 1 {
		p.out.Warnings = append(p.out.Warnings,
			"backend:cudaMallocAsync ignores max_split_size_mb,roundup_power2_divisions, and garbage_collect_threshold.")
	}
}
