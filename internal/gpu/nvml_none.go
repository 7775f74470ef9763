//go:build !linux || !cgo

package gpu

import "errors"

// openNVML says why this program cannot load NVML: its Go binding needs cgo, and Linux.
func openNVML(Machine) (Probe, error) {
	return nil, errors.New("this program was built without NVML (that takes CGO_ENABLED=1, on Linux)")
}
