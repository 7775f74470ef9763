package cli

import (
	"fmt"
	"strings"

	"github.com/ullage-dev/ullage/internal/report"
	"github.com/ullage-dev/ullage/snapshot"
)

// Which devices of a recording a command looks at.

// checkOrdinal checks --device.
func checkOrdinal(device int) error {
	if device < -1 {
		return usageErrorf("--device: %d is no ordinal of a device; they count from 0, and -1 is all", device)
	}
	return nil
}

func (e *explainer) devicesOf(rec *snapshot.Recording) []*snapshot.Device {
	if e.f.device < 0 {
		return rec.Devices
	}
	var list []*snapshot.Device
	for _, d := range rec.Devices {
		if d.Index == e.f.device && d.Kind == snapshot.GPU {
			list = append(list, d)
		}
	}
	return list
}

// noDeviceError says why nothing of a recording is to be looked at: it has nothing, or not
// the device that was asked for, which is a flag's value that cannot be.
func (e *explainer) noDeviceError(rec *snapshot.Recording) error {
	if len(rec.Devices) > 0 {
		return usageErrorf("%s: --device: %s", rec.Source.Name, e.noDevice(rec))
	}
	return inputError(fmt.Errorf("%s: %s", rec.Source.Name, e.noDevice(rec)))
}

func (e *explainer) noDevice(rec *snapshot.Recording) string {
	switch {
	case len(rec.Devices) == 0 && rec.Truncated != nil:
		return fmt.Sprintf("the file breaks off before anything of a device could be read: %s, at offset %d", rec.Truncated.Reason, rec.Truncated.Offset)
	case len(rec.Devices) == 0:
		return "the recording is empty: no segments and no events on any device; was _record_memory_history called before the first use of CUDA?"
	}
	var names []string
	for _, d := range rec.Devices {
		names = append(names, report.DeviceName(d))
	}
	return fmt.Sprintf("no GPU %d in this recording, which has %s", e.f.device, strings.Join(names, ", "))
}
