package viewer

import (
	"context"
	"fmt"
	"testing"
)

// BenchmarkAnswers asks about a made run of 5.2 million events, at another moment each
// time. Budgets, on one core of an AMD EPYC at about 3 GHz: 5 ms for what a step from event
// to event asks, 150 ms for what passes over the whole run.
func BenchmarkAnswers(b *testing.B) {
	s := newServer(b, File{Name: "made", Rank: -1, Read: func(context.Context, func(Stage, float64)) (*Read, error) {
		return readRecording(madeRecording(5_200_000), "made")
	}})
	for _, err := range s.Load(context.Background()) {
		b.Fatal(err)
	}
	d, path := s.session.devices()[0], first(b, s)
	d.Grouping("site")
	for _, tt := range []struct{ name, question string }{
		{"moment", "/moment?event=%d"},
		{"event", "/event/%d"},
		{"next alloc", "/next?of=alloc&event=%d"},
		{"next of a site", "/next?of=site&block=7&event=%d"},
		{"flame", "/flame?event=%d"},
		{"flame of a range", "/flame?from=0&to=%d"},
		{"blocks at a moment", "/table/blocks?sort=-size_bytes&event=%d"},
		{"sites at a moment", "/table/sites?event=%d"},
		{"events", "/table/events?from=%d&q=action%%3Aalloc"},
	} {
		b.Run(tt.name, func(b *testing.B) {
			at := 0
			for b.Loop() {
				at = (at + 2_618_033) % d.Events()
				answerTo(b, s, path+fmt.Sprintf(tt.question, at))
			}
		})
	}
}
