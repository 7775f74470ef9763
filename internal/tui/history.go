package tui

import (
	"time"

	"github.com/ullage-dev/ullage/internal/units"
)

// keptSamples is how much of the past is kept: ten minutes at a reading a second, 48 bytes
// each.
const keptSamples = 600

// sample is what is held at a moment: all that is used, and of it what PyTorch's allocator
// has reserved, and of that what it has allocated; both 0 where nobody tells.
type sample struct {
	at                        time.Time
	used, reserved, allocated int64
}

// histories are the samples of processes, of devices, and of leases.
type histories map[rowKey][]sample

// add takes in a moment, and forgets what is no longer in it.
func (h histories) add(mo *Moment, rows []row) {
	now := map[rowKey]sample{}
	byDevice := map[string]sample{}
	for i := range rows {
		r := &rows[i]
		s := sample{used: usedOr(r.process, 0)}
		if a := r.allocator(); a != nil {
			s.reserved, s.allocated = a.ReservedBytes, a.AllocatedBytes
		}
		if r.process.UsedBytes != nil {
			now[r.key] = s
		}
		sum := byDevice[r.process.DeviceUUID]
		byDevice[r.process.DeviceUUID] = sample{reserved: sum.reserved + s.reserved, allocated: sum.allocated + s.allocated}
	}
	for _, d := range mo.Reading.Devices {
		if d.Memory != nil {
			s := byDevice[d.UUID]
			s.used = d.Memory.UsedBytes
			now[deviceKey(d.UUID)] = s
		}
	}
	for _, l := range mo.Leases {
		if used := leaseUsed(l); used != nil {
			now[leaseKey(l.ID)] = sample{used: *used}
		}
	}
	h.keep(mo.Reading.Time, now)
}

// keep appends to each history its sample, and drops those without one.
func (h histories) keep(at time.Time, now map[rowKey]sample) {
	for key := range h {
		if _, ok := now[key]; !ok {
			delete(h, key)
		}
	}
	for key, s := range now {
		s.at = at
		all := append(h[key], s)
		h[key] = all[max(0, len(all)-keptSamples):] // append copies what is left, once in a while
	}
}

// growth is how much more is held now than at the first sample.
func (h histories) growth(key rowKey) int64 {
	all := h[key]
	if len(all) == 0 {
		return 0
	}
	return all[len(all)-1].used - all[0].used
}

// last returns the newest n samples, or fewer.
func (h histories) last(key rowKey, n int) []sample {
	all := h[key]
	return all[max(0, len(all)-n):]
}

// growthText is what has been added since the first sample, to stand behind an amount.
func (h histories) growthText(key rowKey) string {
	if len(h[key]) < 2 {
		return ""
	}
	if h.growth(key) == 0 {
		return ", the same as " + spanText(age(h[key])) + " ago"
	}
	return ", " + units.FormatBytesDelta(h.growth(key)) + " in " + spanText(age(h[key]))
}

// age is how long ago the first of some samples was.
func age(all []sample) time.Duration {
	if len(all) == 0 {
		return 0
	}
	return all[len(all)-1].at.Sub(all[0].at).Round(time.Second)
}
