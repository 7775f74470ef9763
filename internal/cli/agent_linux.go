package cli

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// monotonicUS is the time that systemd compares reloads by.
func monotonicUS() string {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return "0"
	}
	return strconv.FormatInt(t.Nano()/1000, 10)
}
