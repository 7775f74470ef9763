package tune

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/units"
)

// Notes says what of a setting has no effect, does harm or cannot be simulated, a
// sentence each.
func (t *Tuner) Notes(r *Result) []string {
	var list []string
	note := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	c := &r.Runs[0].Config
	given := func(key string) bool { return slices.Contains(r.Given, key) }
	for _, w := range r.Warnings {
		note("PyTorch warns: %s", strings.TrimSuffix(w, "."))
	}
	if r.Config.GCThreshold > 0 && c.LimitBytes == 0 {
		note("garbage_collection_threshold does nothing without a memory fraction")
	}
	if r.Config.GCThreshold > 0 && c.LimitBytes > 0 && r.Runs[0].Mode != FromFirst {
		note("the recording begins in the middle of a run: the ages that garbage collection goes by are not known there and taken to be 0")
	}
	if r.Config.RejectOverLimit && c.LimitBytes == 0 {
		note("throw_on_cudamalloc_oom does nothing without a memory fraction")
	}
	if given("max_non_split_rounding_mb") && r.Config.MaxSplitBytes == 0 {
		note("max_non_split_rounding_mb does nothing without max_split_size_mb")
	}
	if r.Config.Expandable && r.Config.MaxSplitBytes > 0 {
		note("max_split_size_mb together with expandable_segments can let reserved memory grow without bound (pytorch#193400)")
	}
	if given("expandable_segments_reserve_by_class") {
		note("expandable_segments_reserve_by_class is not simulated: which stream is of which class is told to PyTorch at run time")
	}
	if host := hostOptions(r.Given); len(host) > 0 {
		note("%s: of pinned host memory, no effect on the GPU", strings.Join(host, ", "))
	}
	return append(list, t.runNotes(r)...)
}

func hostOptions(given []string) []string {
	return slices.DeleteFunc(slices.Clone(given), func(key string) bool { return !strings.HasPrefix(key, "pinned_") })
}

// runNotes says what is special about the worst run of a result.
func (t *Tuner) runNotes(r *Result) (list []string) {
	w := r.Worst()
	if w.Declined > 0 {
		list = append(list, units.FormatPlural(w.Declined, "workspace of a convolution does", "workspaces of convolutions do")+" not fit: cuDNN then takes slower algorithms, each after a retry or more")
	}
	if w.Rescued > 0 {
		list = append(list, units.FormatPlural(w.Rescued, "request that failed in the recording fits here", "requests that failed in the recording fit here"))
	}
	if f := w.Failed; f != nil && f.Event < 0 {
		list = append(list, fmt.Sprintf("what is alive when the recording begins, %s, does not fit", units.FormatBytes(w.Program.TL.Start.Allocated)))
	}
	return list
}

// ErrRoom is a limit that contradicts the device.
var ErrRoom = errors.New("the limit is larger than the device")

// ShareError is a setting that is a share of a device whose size is not known.
type ShareError struct{ Conf string }

func (e *ShareError) Error() string {
	return fmt.Sprintf("%q has a share of the device's memory, the size of which is not known", e.Conf)
}

// Hint says how to tell it.
func (e *ShareError) Hint() string { return "--device-memory SIZE tells it" }

// RoomError is a limit below what is alive before the first event.
type RoomError struct {
	RoomBytes, AliveBytes int64
	Name                  string // of the recording
}

func (e *RoomError) Error() string {
	return fmt.Sprintf("%s: %s are alive when the recording begins, which is more than the limit of %s: no setting can make that fit",
		e.Name, units.FormatBytes(e.AliveBytes), units.FormatBytes(e.RoomBytes))
}

// CheckRoom tells why a room makes no sense for the programs or the settings.
func (t *Tuner) CheckRoom(settings []Setting) error {
	if t.Room.LimitBytes > 0 && t.Room.DeviceBytes > 0 && t.Room.LimitBytes > t.Room.DeviceBytes {
		return fmt.Errorf("%w: %s of %s", ErrRoom, units.FormatBytes(t.Room.LimitBytes), units.FormatBytes(t.Room.DeviceBytes))
	}
	for _, p := range t.Programs {
		if n := t.Room.Bytes(); n > 0 && p.TL.Start.Active > n {
			return &RoomError{n, p.TL.Start.Active, p.TL.Rec.Source.Name}
		}
	}
	for _, s := range settings {
		if (s.MemoryFraction < 1 || s.ReserveFraction > 0) && t.Room.DeviceBytes == 0 {
			return &ShareError{s.Conf}
		}
	}
	return nil
}
