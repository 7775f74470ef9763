//go:build !linux

package holder

import "net"

// GroupsOf says that it can't.
func GroupsOf(*net.UnixConn) ([]int, error) { return nil, ErrUnsupported }
