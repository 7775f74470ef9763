//go:build !linux

package child

import "os"

func adoptOrphans() bool { return false }

func reapOrphans(int, <-chan struct{}) <-chan struct{} { return nil }

func haveChildren() bool { return false }

func asksForEnd(os.Signal) bool { return true }
