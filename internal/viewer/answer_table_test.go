package viewer

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/ullage-dev/ullage/internal/tune"
)

// TestTableAnswers: rows come with their columns, and faults with their place.
func TestTableAnswers(t *testing.T) {
	const name = "recordings/bert_varlen-lim16.pickle.xz"
	d, path := device(t, name)
	s := serve(t, name)
	a := answerJSON[struct {
		Rows, Matching int
		MatchingBytes  int64 `json:"matching_bytes"`
		Columns        []struct{ Name string }
		Data           [][]any
	}](t, s, fmt.Sprintf("%s/table/blocks?event=%d&count=7&sort=-size_bytes", path, d.TL.Peak.Allocated.Event))
	if len(a.Data) != 7 || a.MatchingBytes != d.TL.Peak.Allocated.Bytes || len(a.Data[0]) != len(a.Columns) || a.Columns[0].Name != "block" {
		t.Errorf("%d rows, %d bytes, %+v", len(a.Data), a.MatchingBytes, a.Columns)
	}
	for _, tt := range []struct {
		query      string
		status     int
		at, length int // -1: none
		message    string
	}{
		{"blocks?q=" + url.QueryEscape("linear sice>3"), 400, 7, 6, "sice>3: there is no sice>"},
		{"blocks?sort=height", 400, -1, -1, `no column "height"`},
		{"blocks?count=1001", 400, -1, -1, "count=1001 is not from 1 to 1000"},
		{"blocks?event=99999999", 400, -1, -1, "event=99999999 is not from -1"},
		{"events?range=5", 400, -1, -1, "is not two events"},
		{"events?range=9-5", 400, -1, -1, "range=5 is not from 9"},
		{"events?event=5", 400, -1, -1, "expected a range"},
		{"events?rows=5", 400, -1, -1, `unknown parameter "rows"`},
		{"stacks", 400, -1, -1, `there is no table "stacks"`},
	} {
		r := ask(s, api+path+"/table/"+tt.query, nil)
		var v errorJSON
		if err := json.Unmarshal(r.body, &v); err != nil || r.status != tt.status {
			t.Errorf("%s: status %d, %s", tt.query, r.status, r.body)
			continue
		}
		at, length := -1, -1
		if v.Error.At != nil && v.Error.Length != nil {
			at, length = *v.Error.At, *v.Error.Length
		}
		if at != tt.at || length != tt.length || !strings.Contains(v.Error.Message, tt.message) {
			t.Errorf("%s: %q at %d, %d units; want %q at %d, %d", tt.query, v.Error.Message, at, length, tt.message, tt.at, tt.length)
		}
	}
}

// TestTune: the rows are those that the command prints, with the curve of each up to its peak.
func TestTune(t *testing.T) {
	const name = "recordings/resnet50.pickle.xz"
	d, path := device(t, name)
	j := answerJSON[tuneJSON](t, serve(t, name), path+"/tune")
	if len(j.Rows) < 2 || len(j.Curves) != len(j.Rows) || len(j.Events) > maxCurve || j.Cannot != nil {
		t.Fatalf("%d rows, %d curves of %d points; cannot: %v", len(j.Rows), len(j.Curves), len(j.Events), j.Cannot)
	}
	if last := j.Events[len(j.Events)-1]; last != d.Events()-1 {
		t.Errorf("curves end at e%d of %d events", last, d.Events())
	}
	for i, row := range j.Rows {
		if peak := slices.Max(j.Curves[i].Reserved); peak != row.PeakReservedBytes || j.Curves[i].Conf != row.Conf || len(j.Curves[i].Reserved) != len(j.Events) {
			t.Errorf("%q: the curve of %q goes up to %d, the peak is %d", row.Conf, j.Curves[i].Conf, peak, row.PeakReservedBytes)
		}
		if row.Recorded && row.PeakReservedBytes != d.TL.Peak.Reserved.Bytes {
			t.Errorf("with the recorded settings %d, the recording has %d", row.PeakReservedBytes, d.TL.Peak.Reserved.Bytes)
		}
	}
	if !slices.ContainsFunc(j.Rows, func(r tuneRow) bool { return r.Recorded && r.LowBytes != nil }) {
		t.Error("the recorded settings are not among the rows, or their spread is not known")
	}
}

// TestTuneOfNothing: what cannot be replayed is said, and is no error of the client's.
func TestTuneOfNothing(t *testing.T) {
	for _, name := range answered {
		d, path := device(t, name)
		_, err := tune.Compile(d.TL, d.died())
		if err == nil {
			continue
		}
		j := answerJSON[tuneJSON](t, serve(t, name), path+"/tune")
		if j.Cannot == nil || *j.Cannot != err.Error() || len(j.Rows) != 0 {
			t.Errorf("%s: %+v, want %v", name, j, err)
		}
	}
}

// FuzzAnswers: whatever a request says, the answer is one, or an error that says what is
// wrong with it; never one of the program's own.
func FuzzAnswers(f *testing.F) {
	const name = "recordings/leak_eval_outputs-oom.pickle.xz"
	s := serve(f, name)
	path := first(f, s)
	id := url.QueryEscape(path[len("rec/"):])
	for _, q := range []string{
		"moment?event=5&by=site", "block/7", "event/9", "next?event=3&of=site&block=2&dir=prev", "flame?from=3&to=900&invert=1&min=9",
		"table/blocks?q=size%3E1MiB&sort=-life_us&event=100", "table/events?range=-1-50&from=3&count=5", "table/sites?q=leak:", "table/segments?sort=pool",
	} {
		f.Add(path + "/" + q)
	}
	f.Add("compare?a=" + id + "&b=" + id + "&at_a=-1&at_b=77")
	f.Add("command?device=" + id + "&view=flame&event=3")
	f.Fuzz(func(t *testing.T, target string) {
		r := ask(s, api+target, nil)
		if r.status >= http.StatusInternalServerError || r.status != http.StatusOK && !json.Valid(r.body) {
			t.Errorf("%q: status %d: %.200s", target, r.status, r.body)
		}
	})
}
