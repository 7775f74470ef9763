package enforce

import (
	"slices"
	"testing"

	"github.com/ullage-dev/ullage/internal/units"
)

func limited(pid int, limit, outside int64) Member {
	return Member{PID: pid, LimitBytes: &limit, OutsideBytes: outside}
}

func TestGrade(t *testing.T) {
	const gib = units.GiB
	half := Share{Device: "GPU-1", Bytes: 8 * gib, CapacityBytes: 16 * gib}
	with := func(s Share, members ...Member) Share {
		s.Members = members
		return s
	}
	whole := Share{Device: "MIG-1", Bytes: 16 * gib, CapacityBytes: 16 * gib}
	divided := whole
	divided.Divided = true
	kept := with(half, limited(1, 7*gib, gib))

	for name, tc := range map[string]struct {
		shares []Share
		want   Grade
	}{
		"nothing held":                        {nil, Watched},
		"nobody there yet":                    {[]Share{half}, Watched},
		"a process that says nothing":         {[]Share{with(half, Member{PID: 1})}, Watched},
		"a process that keeps its limit":      {[]Share{kept}, Self},
		"of two, one says nothing":            {[]Share{with(half, limited(1, gib, gib), Member{PID: 2})}, Watched},
		"two that keep within it":             {[]Share{with(half, limited(1, 3*gib, gib), limited(2, 3*gib, gib))}, Self},
		"two whose limits are more than it":   {[]Share{with(half, limited(1, 7*gib, gib), limited(2, 7*gib, gib))}, Watched},
		"a limit that leaves out the context": {[]Share{with(half, limited(1, 8*gib, 1))}, Watched},
		"a limit of nothing":                  {[]Share{with(half, limited(1, 0, gib))}, Self},
		"all of a device":                     {[]Share{whole}, Hardware},
		"of a device that is divided":         {[]Share{divided}, Watched},
		"of a device whose size is not known": {[]Share{{Device: "GPU-1", Bytes: gib}}, Watched},
		"the least firm counts":               {[]Share{whole, kept}, Self},
		"whichever comes first":               {[]Share{with(half), whole, kept}, Watched},
	} {
		if got := Standard().Grade(tc.shares); got != tc.want {
			t.Errorf("%s: %s, expected %s", name, got, tc.want)
		}
	}
}

// hook stands for an enforcer that is yet to come.
type hook struct{ Watching }

func (hook) Grade() Grade { return Hook }

func TestFirmestCounts(t *testing.T) {
	share := []Share{{Device: "GPU-1", Bytes: 4, CapacityBytes: 8, Members: []Member{limited(1, 4, 0)}}}
	for _, set := range []Set{append(Standard(), hook{}), append(Set{hook{}}, Standard()...)} {
		if got := set.Grade(share); got != Hook {
			t.Errorf("%s, expected %s", got, Hook)
		}
	}
}

func TestCompare(t *testing.T) {
	list := []Grade{"", Watched, Self, Server, Hook, Kernel, Hardware}
	slices.SortFunc(list, Grade.Compare)
	if want := append(slices.Clone(firmest), ""); !slices.Equal(list, want) {
		t.Errorf("%v, expected %v", list, want)
	}
}
