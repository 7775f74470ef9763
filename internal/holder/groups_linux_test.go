package holder

import (
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// TestGroupsOf: the groups of a peer are those of its process, which here is this one.
func TestGroupsOf(t *testing.T) {
	server, _ := connected(t)
	want, err := unix.Getgroups()
	if err != nil {
		t.Fatal(err)
	}
	got, err := GroupsOf(server)
	slices.Sort(got)
	slices.Sort(want)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("GroupsOf = %v, %v, want %v", got, err, want)
	}
}
