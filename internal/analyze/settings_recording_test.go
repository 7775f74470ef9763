package analyze

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ullage-dev/ullage/internal/timeline"
	"github.com/ullage-dev/ullage/snapshot"
)

// TestCollectionAtWork: the fraction is not in the file, but its effect is, so the
// threshold must not be called inert.
func TestCollectionAtWork(t *testing.T) {
	file, err := os.Open(filepath.Join("testdata", "settings", "multiscale-gc10.pickle.xz"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rec, err := snapshot.Read(file, snapshot.Options{Name: "multiscale-gc10"})
	if err != nil {
		t.Fatal(err)
	}
	tl := replayed(rec).TL
	ev := SettingsEvidenceOf(tl)
	if ev.Collections != mostBursts || !ev.Native || ev.Expandable {
		t.Errorf("evidence %+v, want %d collections (there are 19) of native segments", ev, mostBursts)
	}
	if found := Settings(rec.Settings, ev); len(found) != 0 {
		t.Errorf("findings about settings that are right: %+v", found)
	}
}

// TestRetriesAreNoCollections: the same threshold in a run that released its cache
// because requests failed proves nothing.
func TestRetriesAreNoCollections(t *testing.T) {
	tl := recording(t, "bert_varlen-lim16").TL
	if !slices.ContainsFunc(releases(tl), func(r release) bool { return r.beforeGrowth(tl) }) {
		t.Fatal("the recording has no release before a growth, so this test shows nothing")
	}
	ev := SettingsEvidenceOf(withSettings(tl, settings("garbage_collection_threshold:0.8", func(s *snapshot.Settings) { s.GCThreshold = 0.8 })))
	if ev.Collections != 0 {
		t.Errorf("%d releases after failed requests were taken for collections", ev.Collections)
	}
}

// withSettings is tl as if it had been recorded under other settings.
func withSettings(tl *timeline.Timeline, s *snapshot.Settings) *timeline.Timeline {
	rec, other := *tl.Rec, *tl
	rec.Settings = s
	other.Rec = &rec
	return &other
}
