package pickle_test

import (
	"bytes"
	"testing"

	"github.com/ullage-dev/ullage/internal/made"
	"github.com/ullage-dev/ullage/internal/pickle"
	"github.com/ullage-dev/ullage/internal/value"
)

// BenchmarkDecode reads a made recording for a Builder that keeps nothing: what the
// opcodes cost by themselves. Budget: 120 ns of the 200 that snapshot.Read may take for an
// event, on the machine of its BenchmarkRead.
func BenchmarkDecode(b *testing.B) {
	const events = 200_000
	var doc bytes.Buffer
	if _, err := (made.Run{Events: events}).WritePickle(&doc); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(doc.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := pickle.Decode(bytes.NewReader(doc.Bytes()), &nullBuilder{}, pickle.Options{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*events), "ns/event")
}

// nullBuilder makes the same object of everything.
type nullBuilder struct{ pool value.Pool }

var nullObject = value.Of(value.KindObject, 0)

func (b *nullBuilder) Pool() *value.Pool { return &b.pool }

func (*nullBuilder) Dict(value.Place, []value.Value) (value.Value, error) { return nullObject, nil }
func (*nullBuilder) List(value.Value, []value.Value) (value.Value, error) { return nullObject, nil }
func (*nullBuilder) Tuple([]value.Value) (value.Value, error)             { return nullObject, nil }
func (*nullBuilder) CutDict([]value.Value) value.Value                    { return nullObject }
