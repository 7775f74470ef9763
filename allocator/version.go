package allocator

import (
	"fmt"
	"strconv"
	"strings"
)

// Version is a release of PyTorch.
type Version struct {
	Major, Minor int
}

// Newest is the newest release whose behaviour is known.
var Newest = Version{2, 14}

// oldest is the first release that records memory, so that there is something
// to simulate.
var oldest = Version{2, 0}

// ParseVersion reads torch.__version__: "2.11.0+cu130", "2.4", "2.13.0a0+git1234".
func ParseVersion(s string) (Version, error) {
	major, rest, dot := strings.Cut(strings.TrimSpace(s), ".")
	minor := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]
	a, errA := strconv.ParseUint(major, 10, 16)
	b, errB := strconv.ParseUint(minor, 10, 16)
	if !dot || errA != nil || errB != nil {
		return Version{}, fmt.Errorf("%q is not a version of PyTorch: expected MAJOR.MINOR, as in 2.11.0", s)
	}
	return Version{int(a), int(b)}, nil
}

// String returns MAJOR.MINOR.
func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }

// AtLeast tells whether v is release major.minor or newer.
func (v Version) AtLeast(major, minor int) bool {
	return v.Major > major || v.Major == major && v.Minor >= minor
}

// Behavior returns what the release does differently from the newest. Where the
// release of a change is not known, the one its date falls into is taken:
// pytorch#134338, #128068, #154042, #169699, #175374.
func (v Version) Behavior() Behavior {
	return Behavior{
		NativePrivatePools:    !v.AtLeast(2, 5),
		UseMemPoolIsCapture:   !v.AtLeast(2, 13),
		ReleaseActivePoolOnly: v.AtLeast(2, 6) && !v.AtLeast(2, 8),
		LateFallback:          !v.AtLeast(2, 10),
	}
}
