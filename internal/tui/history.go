package tui

import (
	"time"

	"github.com/ullage-dev/ullage/internal/gpu"
)

// keptSamples is how much of the past is kept: ten minutes at a reading a second, 24 bytes
// each.
const keptSamples = 600

// sample is an amount at a moment.
type sample struct {
	at    time.Time
	bytes int64
}

// histories are the samples of processes, and of devices, whose key has no PID.
type histories map[rowKey][]sample

func deviceKey(uuid string) rowKey { return rowKey{device: uuid, gi: -1, ci: -1} }

// add takes in a reading, and forgets what is no longer in it.
func (h histories) add(r *gpu.Reading) {
	now := map[rowKey]int64{}
	for _, d := range r.Devices {
		if d.Memory != nil {
			now[deviceKey(d.UUID)] = d.Memory.UsedBytes
		}
	}
	for _, p := range r.Processes {
		if p.UsedBytes != nil {
			now[keyOf(p)] = *p.UsedBytes
		}
	}
	for key := range h {
		if _, ok := now[key]; !ok {
			delete(h, key)
		}
	}
	for key, bytes := range now {
		all := append(h[key], sample{r.Time, bytes})
		if len(all) > keptSamples {
			all = append(all[:0], all[len(all)-keptSamples:]...)
		}
		h[key] = all
	}
}

// growth is how much more is held now than at the first sample.
func (h histories) growth(key rowKey) int64 {
	all := h[key]
	if len(all) == 0 {
		return 0
	}
	return all[len(all)-1].bytes - all[0].bytes
}

// last returns the newest n amounts, or fewer.
func (h histories) last(key rowKey, n int) []int64 {
	all := h[key]
	all = all[max(0, len(all)-n):]
	amounts := make([]int64, len(all))
	for i, s := range all {
		amounts[i] = s.bytes
	}
	return amounts
}
