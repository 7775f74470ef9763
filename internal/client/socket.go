package client

import (
	"path/filepath"
	"strconv"
	"strings"
)

// SystemSocket is where the agent of a machine listens.
const SystemSocket = "/run/ullage/agent.sock"

// SocketVariable is the environment variable that names the agent's socket. A program that
// runs under a lease has it too.
const SocketVariable = "ULLAGE_SOCKET"

// DefaultSocket returns the socket of the agent that a user means who names none: what
// ULLAGE_SOCKET says, the machine's agent, or where there is none the user's own.
func DefaultSocket(env func(string) (string, bool), uid int, exists func(path string) bool) string {
	if path, ok := env(SocketVariable); ok && path != "" {
		return path
	}
	if uid == 0 || exists(SystemSocket) {
		return SystemSocket
	}
	return OwnSocket(env, uid)
}

// OwnSocket is where an agent listens that a user started: root's is the machine's.
func OwnSocket(env func(string) (string, bool), uid int) string {
	if uid == 0 {
		return SystemSocket
	}
	if dir, ok := env("XDG_RUNTIME_DIR"); ok && filepath.IsAbs(dir) {
		return filepath.Join(dir, "ullage", "agent.sock")
	}
	return filepath.Join("/run/user", strconv.Itoa(uid), "ullage", "agent.sock")
}

// Environ is what a program is told of the lease that it runs under, as NAME=VALUE:
//
//	CUDA_VISIBLE_DEVICES  its devices, by UUID, so that CUDA shows no others
//	ULLAGE_LEASE          its number
//	ULLAGE_LEASE_EPOCH    which grant it is: a later one of the machine has a higher number
//	ULLAGE_LEASE_MEMORY   bytes that it has on each device; where that differs, the least of them
//	ULLAGE_SOCKET         the agent's socket
//
// The agent finds the members of a lease by ULLAGE_LEASE and ULLAGE_LEASE_EPOCH too.
func (l *Lease) Environ(socket string) []string {
	if abs, err := filepath.Abs(socket); err == nil {
		socket = abs
	}
	devices := make([]string, len(l.Shares))
	least := int64(-1)
	for i, s := range l.Shares {
		devices[i] = s.Device
		if least < 0 || s.Bytes < least {
			least = s.Bytes
		}
	}
	return []string{
		"CUDA_VISIBLE_DEVICES=" + strings.Join(devices, ","),
		"ULLAGE_LEASE=" + strconv.FormatInt(l.ID, 10),
		"ULLAGE_LEASE_EPOCH=" + strconv.FormatInt(l.Epoch, 10),
		"ULLAGE_LEASE_MEMORY=" + strconv.FormatInt(max(least, 0), 10),
		SocketVariable + "=" + socket,
	}
}
