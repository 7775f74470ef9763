package holder

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"unsafe"

	"golang.org/x/sys/unix"
)

// maxGroups is NGROUPS_MAX of Linux.
const maxGroups = 65536

// GroupsOf returns the supplementary groups of who connected a socket, as the kernel noted
// them then. What a directory server says of the user meanwhile does not count, as it does
// not for files.
func GroupsOf(conn *net.UnixConn) ([]int, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("groups of a socket: %w", err)
	}
	var groups []int
	var inner error
	if err := raw.Control(func(fd uintptr) { groups, inner = groupsOf(int(fd)) }); err != nil {
		return nil, fmt.Errorf("groups of a socket: %w", err)
	}
	if inner != nil {
		return nil, fmt.Errorf("groups of a socket: %w", inner)
	}
	return groups, nil
}

// groupsOf asks with room for as many groups as most users have, and again with room for all.
func groupsOf(socket int) ([]int, error) {
	for _, room := range []int{64, maxGroups} {
		buffer := make([]byte, 4*room)
		n := uint32(len(buffer))
		_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(socket), unix.SOL_SOCKET, unix.SO_PEERGROUPS,
			uintptr(unsafe.Pointer(&buffer[0])), uintptr(unsafe.Pointer(&n)), 0)
		switch errno {
		case 0:
			groups := make([]int, 0, n/4)
			for b := buffer[:n]; len(b) >= 4; b = b[4:] {
				groups = append(groups, int(binary.NativeEndian.Uint32(b)))
			}
			return groups, nil
		case unix.ERANGE:
		default:
			return nil, errno
		}
	}
	return nil, errors.New("more groups than Linux has")
}
