package fit

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/snapshot"
)

// TestWriteRecording: what is written is read as it was, under each kind of settings.
func TestWriteRecording(t *testing.T) {
	for _, conf := range []string{"", "expandable_segments:True", "max_split_size_mb:64,roundup_power2_divisions:4"} {
		job, err := Compile(readFixture(t, "vgg16-b500-momentum"), mustProfile(t, "h200"), 0)
		if err != nil {
			t.Fatal(err)
		}
		job.Trace.Meta.AllocConf = conf
		rec, run := job.Record(Room{Config: mustConfig(t, conf)})
		var b bytes.Buffer
		if err := WriteRecording(&b, rec); err != nil {
			t.Fatal(err)
		}
		got, err := snapshot.Read(&b, snapshot.Options{Name: "written"})
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Warnings) > 0 || len(got.Unknown) > 0 || len(got.Devices) != 1 {
			t.Fatalf("%q: warnings %v, unknown %v, %d devices", conf, got.Warnings, got.Unknown, len(got.Devices))
		}
		tl := timeline.Build(got, got.Devices[0])
		if tl.Peak.Reserved.Bytes != run.PeakReserved || tl.Peak.Allocated.Bytes != run.PeakAllocated || tl.Replay.Odd != (timeline.Odd{}) || tl.Replay.Equal != tl.Replay.Allocs {
			t.Errorf("%q: reserved %d, want %d; allocated %d, want %d; %+v", conf, tl.Peak.Reserved.Bytes, run.PeakReserved, tl.Peak.Allocated.Bytes, run.PeakAllocated, tl.Replay)
		}
		if diff := cmp.Diff(framesOf(rec), framesOf(got)); diff != "" {
			t.Errorf("%q: stacks differ: %s", conf, diff)
		}
	}
}

// framesOf returns the innermost frame of every tenth event.
func framesOf(rec *snapshot.Recording) (out []snapshot.Frame) {
	events := rec.Devices[0].Events
	for i := 0; i < events.Len(); i += 10 {
		if f := rec.Stacks.Frames(events.At(i).Stack); len(f) > 0 {
			out = append(out, rec.Frames[f[0]])
		}
	}
	return out
}
