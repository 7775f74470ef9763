package timeline

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/ullage-dev/ullage/snapshot"
)

// recordings are committed recordings of every kind: complete and cut, native and
// expandable, with private pools, with settings of their own.
func recordings(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, dir := range []string{"gpu", "recordings"} {
		files, err := filepath.Glob(filepath.Join("..", "..", "testdata", dir, "*.pickle.xz"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no recordings in testdata/%s: %v", dir, err)
		}
		all = append(all, files...)
	}
	return all
}

func readFile(t *testing.T, name string, opt snapshot.Options) *snapshot.Recording {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rec, err := snapshot.Read(f, opt)
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// TestAheadIsBuild holds the replay made while a file was read against the one made
// afterwards, whether or not what it supposed held.
func TestAheadIsBuild(t *testing.T) {
	held := 0
	for _, name := range recordings(t) {
		ahead := new(Ahead)
		rec := readFile(t, name, snapshot.Options{OnEvents: ahead.Events})
		for _, dev := range rec.Devices {
			if ahead.replayOf(rec, dev) != nil {
				held++
			}
		}
		ahead = new(Ahead) // replayOf gives a replay away
		rec = readFile(t, name, snapshot.Options{OnEvents: ahead.Events})
		for _, dev := range rec.Devices {
			got, want := ahead.Build(rec, dev), Build(rec, dev)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s, device %d: ahead %+v, then %+v", name, dev.Index, got.Replay, want.Replay)
			}
		}
	}
	if held < 10 {
		t.Errorf("only %d traces were replayed while they were read", held)
	}
}
