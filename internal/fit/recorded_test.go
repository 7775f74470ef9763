package fit

import (
	"bufio"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/snapshot"
)

// recordedJobs are the jobs of testdata/fit, with the share of bytes that must be requested
// in the recorded order. ConvNeXt runs with channels innermost.
var recordedJobs = map[string]float64{
	"convnext_tiny-b300-adam":          0.98,
	"gpt2-b30-adamw":                   1,
	"llama-1b-b2-adamw-t1024-bf16":     1,
	"resnet50-b64-adamw-i224-amp-bf16": 0.999,
	"t5-small-b30-adamw":               0.99,
	"vgg16-b500-momentum":              0.999,
	"vit_b_16-b40-sgd-i224":            1,
}

func readFixture(t testing.TB, name string) *Trace {
	t.Helper()
	file, err := os.Open(filepath.Join("..", "..", "testdata", "fit", name+".jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	z, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	trace, err := Read(bufio.NewReader(z), name)
	if err != nil {
		t.Fatal(err)
	}
	return trace
}

func readRecorded(t testing.TB, name string) *snapshot.Recording {
	t.Helper()
	file, err := os.Open(filepath.Join("..", "..", "testdata", "fit", name+".pickle.xz"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rec, err := snapshot.Read(file, snapshot.Options{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// requestsOf are the sizes that a recording's program asked for, in order.
func requestsOf(dev *snapshot.Device) (sizes []int64) {
	for i := range dev.Events.Len() {
		if e := dev.Events.At(i); e.Action == snapshot.Alloc {
			sizes = append(sizes, e.SizeBytes)
		}
	}
	return sizes
}

// TestPredictedJobsAreTheRecordedOnes holds predictions against recordings of the same jobs on an
// H200: the order of requests, and the peaks.
func TestPredictedJobsAreTheRecordedOnes(t *testing.T) {
	for name, least := range recordedJobs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rec := readRecorded(t, name)
			tl := timeline.Build(rec, rec.Devices[0])
			job, err := Compile(readFixture(t, name), mustProfile(t, "h200"), 0)
			if err != nil {
				t.Fatal(err)
			}
			p, err := Predict(job, Options{})
			if err != nil {
				t.Fatal(err)
			}
			predicted, _ := p.Record()
			share := alike(requestsOf(rec.Devices[0]), requestsOf(predicted.Devices[0]))
			want := tl.Peak
			t.Logf("%.4f of bytes in the recorded order; reserved %d of %d, allocated %d of %d, safe %+.2f %%", share, p.Best.PeakReserved, want.Reserved.Bytes,
				p.Best.PeakAllocated, want.Allocated.Bytes, 100*(float64(p.Safe)/float64(want.Reserved.Bytes)-1))
			if share < least {
				t.Errorf("%.4f of the bytes are requested in the recorded order: expected %.4f", share, least)
			}
			if off := offBy(p.Best.PeakReserved, want.Reserved.Bytes); off > 0.005 {
				t.Errorf("reserved: %d predicted, %d recorded", p.Best.PeakReserved, want.Reserved.Bytes)
			}
			if off := offBy(p.Best.PeakAllocated, want.Allocated.Bytes); off > 0.002 {
				t.Errorf("allocated: %d predicted, %d recorded", p.Best.PeakAllocated, want.Allocated.Bytes)
			}
			if p.Safe < want.Reserved.Bytes {
				t.Errorf("the safe bound of %d lies below the %d recorded", p.Safe, want.Reserved.Bytes)
			}
		})
	}
}

func offBy(got, want int64) float64 {
	d := float64(got-want) / float64(want)
	return max(d, -d)
}

func mustProfile(t testing.TB, name string) *Profile {
	t.Helper()
	p, err := FindProfile(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestPredictedRecordingsReplayAsPredicted: the recording made of a prediction is a sound one, and
// its replay comes to the same peaks.
func TestPredictedRecordingsReplayAsPredicted(t *testing.T) {
	for name := range recordedJobs {
		if !strings.HasPrefix(name, "vgg") && !strings.HasPrefix(name, "t5") {
			continue
		}
		for _, conf := range []string{"", "expandable_segments:True", "max_split_size_mb:32"} {
			job, err := Compile(readFixture(t, name), mustProfile(t, "h200"), 0)
			if err != nil {
				t.Fatal(err)
			}
			room := Room{Config: mustConfig(t, conf)}
			rec, run := job.Record(room)
			tl := timeline.Build(rec, rec.Devices[0])
			if tl.Replay.Odd != (timeline.Odd{}) || !tl.Replay.FromCold || tl.Replay.Equal != tl.Replay.Allocs {
				t.Errorf("%s under %q: odd %+v, %d of %d at their address", name, conf, tl.Replay.Odd, tl.Replay.Equal, tl.Replay.Allocs)
			}
			if tl.Peak.Reserved.Bytes != run.PeakReserved || tl.Peak.Allocated.Bytes != run.PeakAllocated {
				t.Errorf("%s under %q: replayed peaks %d and %d, predicted %d and %d", name, conf, tl.Peak.Reserved.Bytes, tl.Peak.Allocated.Bytes, run.PeakReserved, run.PeakAllocated)
			}
		}
	}
}
