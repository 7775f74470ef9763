package client

import (
	"path/filepath"
	"strconv"
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
