package node

import (
	"os/exec"
	"syscall"
)

// asUser has a command run as a user, with no other groups.
func asUser(cmd *exec.Cmd, uid, gid int) {
	if uid != syscall.Getuid() {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	}
}
