package conf

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ullage-dev/ullage/allocator"
)

// TestOptionNames: what is proposed for a slip of the pen is an option.
func TestOptionNames(t *testing.T) {
	for _, name := range optionNames {
		_, err := allocator.ParseConfig(allocator.Newest, name+":x")
		var refused *allocator.ConfigError
		if errors.As(err, &refused) && IsUnknownOption(refused) {
			t.Errorf("%s: %v", name, err)
		}
		if got := NearestOption(name); got != name {
			t.Errorf("nearest to %s is %s", name, got)
		}
	}
}

// TestSplitRoundTrip: whatever pairs are written, with blanks anywhere, come back, and
// each from the bytes that it says.
func TestSplitRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[a-z0-9_.>]{1,12}`)
		value := rapid.OneOf(word, rapid.Map(rapid.SliceOfN(word, 1, 3), func(w []string) string { return "[" + strings.Join(w, ",") + "]" }))
		var want [][2]string
		var parts []string
		for range rapid.IntRange(1, 5).Draw(t, "options") {
			key, value := word.Draw(t, "key"), value.Draw(t, "value")
			want = append(want, [2]string{key, value})
			parts = append(parts, key+" :\t"+value)
		}
		text := strings.Join(parts, " , ")
		var got [][2]string
		for i, o := range Split(text) {
			got = append(got, [2]string{o.Key, o.Value})
			if text[o.Start:o.End] != parts[i] {
				t.Errorf("option %d is at %q, want %q", i, text[o.Start:o.End], parts[i])
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
	})
}

// TestByRelease: an option is refused up to the release before the one that has it.
func TestByRelease(t *testing.T) {
	for conf, first := range map[string]int{"max_split_size_mb:128": 0, "expandable_segments:True": 1, "large_segment_size_mb:64": 11} {
		for minor, r := range ByRelease(conf) {
			if accepted := r.Refused == nil; accepted != (minor >= first) || accepted != (r.Settings != nil) {
				t.Errorf("%s in %v: accepted is %v", conf, r.Version, accepted)
			}
		}
	}
	if _, refused := Read("no_such_option:1"); refused == nil || refused.Version != allocator.Newest || !IsUnknownOption(refused) {
		t.Errorf("refused is %v", refused)
	}
}
