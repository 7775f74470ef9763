package holder

import (
	"errors"
	"fmt"
	"net"

	"golang.org/x/sys/unix"
)

// PeerOf returns who connected a socket that was just accepted. ErrGone and ErrUnseen are
// among its errors, and come with the user and group: a client that is either cannot hold a
// lease, and nobody else is taken for it.
func PeerOf(conn *net.UnixConn) (Peer, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return Peer{}, fmt.Errorf("peer of a socket: %w", err)
	}
	var peer Peer
	var inner error
	if err := raw.Control(func(fd uintptr) { peer, inner = peerOf(int(fd)) }); err != nil {
		return Peer{}, fmt.Errorf("peer of a socket: %w", err)
	}
	if inner != nil {
		return peer, fmt.Errorf("peer of a socket: %w", inner)
	}
	return peer, nil
}

func peerOf(socket int) (Peer, error) {
	cred, err := unix.GetsockoptUcred(socket, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return Peer{}, err
	}
	peer := Peer{UID: int(cred.Uid), GID: int(cred.Gid)}
	if cred.Pid <= 0 {
		return peer, ErrUnseen
	}
	pidfd, err := peerFD(socket, int(cred.Pid))
	if err != nil {
		return peer, err
	}
	defer unix.Close(pidfd)
	start, err := startOf(pidfd, int(cred.Pid))
	if err == nil {
		peer.ID = ID{int(cred.Pid), start}
	}
	return peer, err
}

// peerFD opens the process that connected a socket. Linux has SO_PEERPIDFD since 6.5; until
// then the PID is all there is, and could be another's by now. But while the other end of
// the socket is open, so is the process that opened it, unless it gave the socket away.
func peerFD(socket, pid int) (int, error) {
	pidfd, err := unix.GetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_PEERPIDFD)
	switch {
	case err == nil:
		unix.CloseOnExec(pidfd)
		return pidfd, nil
	case errors.Is(err, unix.ENOPROTOOPT):
		return peerByPID(socket, pid)
	}
	return -1, goneOr(err)
}

func peerByPID(socket, pid int) (int, error) {
	pidfd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return -1, goneOr(err)
	}
	events, err := poll(socket, 0) // that it is closed is told unasked
	if err == nil && events&unix.POLLHUP != 0 {
		err = ErrGone
	}
	if err != nil {
		unix.Close(pidfd)
		return -1, err
	}
	return pidfd, nil
}

// goneOr gives the kernel's two words for a process that has ended one name.
func goneOr(err error) error {
	if errors.Is(err, unix.ESRCH) || errors.Is(err, unix.EINVAL) {
		return ErrGone
	}
	return err
}
