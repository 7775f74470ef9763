//go:build !linux

package cli

// monotonicUS is the time that systemd compares reloads by; it is on Linux only.
func monotonicUS() string { return "0" }
