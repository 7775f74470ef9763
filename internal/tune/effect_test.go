package tune

import (
	"strings"
	"testing"

	"github.com/ullage-dev/ullage/internal/units"
)

func TestWouldFit(t *testing.T) {
	tests := []struct {
		recording string
		died      bool
		fits      bool
		text      string // a part of it
	}{
		{"recordings/bert_varlen-lim16.pickle.xz", true, true, "and this request fits, with"},
		{"gpu/oom_checkerboard.pickle.xz", true, false, "this request fails too"},
		{"gpu/oom_batch_too_large.pickle.xz", true, false, "fails"},
		{"gpu/images_of_many_sizes.pickle.xz", false, true, "this run reserves at most"},
		{"gpu/ring_cut.pickle.xz", false, true, "how memory lay when the recording began is taken at its worst"},
	}
	for _, tt := range tests {
		t.Run(tt.recording, func(t *testing.T) {
			tl := recorded(t, tt.recording)
			e, err := WouldFit(tl, diedAt(tl, tt.died), "expandable_segments:True")
			if err != nil {
				t.Fatal(err)
			}
			if e.Fits != tt.fits || !strings.Contains(e.Text(), tt.text) {
				t.Errorf("fits %v: %q; want %v and %q", e.Fits, e.Text(), tt.fits, tt.text)
			}
			if e.Fits && e.CapBytes > 0 && e.PeakReservedBytes+e.SpareBytes != e.CapBytes {
				t.Errorf("peak %s and %s to spare are not the cap %s", units.FormatBytes(e.PeakReservedBytes), units.FormatBytes(e.SpareBytes), units.FormatBytes(e.CapBytes))
			}
			if e.SavesBytes() > 0 && !e.Fits {
				t.Error("savings of a run that does not fit")
			}
		})
	}
}

// TestStartIsTakenTwoWays: a recording that begins in the middle of a run. As it lies,
// the same settings come to the recorded peak; placed anew, nothing is cached at first.
func TestStartIsTakenTwoWays(t *testing.T) {
	for _, name := range []string{"gpu/late_start.pickle.xz", "gpu/ring_cut.pickle.xz", "gpu/ring_cut_expandable.pickle.xz"} {
		tl := recorded(t, name)
		p := compiled(t, tl, -1)
		conf := tl.Rec.Settings.Conf
		tuner := New(AssumeTorch(tl.Rec).Version, []*Program{p}, Room{}, Options{})
		s := parsed(t, conf)
		warm := tuner.try(p, &s)
		if warm.Mode != Warm || warm.PeakReserved != tl.Peak.Reserved.Bytes || warm.PeakRequested != tl.Peak.Requested.Bytes {
			t.Errorf("%s as it lies: mode %v, peak reserved %d, requested %d; recorded %d, %d", name, warm.Mode, warm.PeakReserved, warm.PeakRequested, tl.Peak.Reserved.Bytes, tl.Peak.Requested.Bytes)
		}
		other := parsed(t, "max_split_size_mb:512")
		cold := tuner.try(p, &other)
		if cold.Mode != Cold || cold.PeakRequested != tl.Peak.Requested.Bytes {
			t.Errorf("%s anew: mode %v, peak requested %d, recorded %d", name, cold.Mode, cold.PeakRequested, tl.Peak.Requested.Bytes)
		}
		if tuner.spread(&cold, &other); cold.Spread.Runs != cold.Spread.OfOrders+1 {
			t.Errorf("%s: the other beginning is not in the spread: %+v", name, cold.Spread)
		}
	}
}
