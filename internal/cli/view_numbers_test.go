package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ullage-dev/ullage/internal/viewer"
	"github.com/ullage-dev/ullage/web"
)

// pageOf is the server of `ullage view` for some files of testdata, with its devices.
type pageOf struct {
	t       *testing.T
	server  *viewer.Server
	devices []string // "ID/0", a file each
}

func newPageOf(t *testing.T, names ...string) *pageOf {
	t.Helper()
	app := new(outside).app()
	v, err := newViewing(app, &viewFlags{maxSize: defaultMaxSize}, false)
	if err != nil {
		t.Fatal(err)
	}
	var args []string
	for _, name := range names {
		args = append(args, filepath.Join("..", "..", "testdata", filepath.FromSlash(name)))
	}
	files, err := v.files(t.Context(), args)
	if err != nil {
		t.Fatal(err)
	}
	p := &pageOf{t: t}
	if p.server, err = viewer.New(viewer.Config{Files: files, Page: web.Dist(), Now: app.Now, Log: io.Discard}); err != nil {
		t.Fatal(err)
	}
	for _, err := range p.server.Load(t.Context()) {
		t.Fatal(err)
	}
	var session struct{ Recordings []struct{ ID string } }
	p.get("session", &session)
	for _, r := range session.Recordings {
		p.devices = append(p.devices, r.ID+"/0")
	}
	return p
}

// ask returns the status and the body of an answer.
func (p *pageOf) ask(path string) (int, []byte) {
	p.t.Helper()
	r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:7070/api/v1/"+path, nil)
	w := httptest.NewRecorder()
	p.server.ServeHTTP(w, r)
	return w.Code, w.Body.Bytes()
}

func (p *pageOf) get(path string, v any) {
	p.t.Helper()
	status, body := p.ask(path)
	if status != http.StatusOK {
		p.t.Fatalf("%s: status %d: %s", path, status, body)
	}
	if err := json.Unmarshal(body, v); err != nil {
		p.t.Fatalf("%s: %v", path, err)
	}
}

// run runs the command that the page gives for a view, for its JSON.
func (p *pageOf) run(parameters string, v any) {
	p.t.Helper()
	var c struct{ Command string }
	p.get("command?device="+url.QueryEscape(p.devices[0])+"&"+parameters, &c)
	words := strings.Fields(c.Command)
	if len(words) == 0 || words[0] != "ullage" {
		p.t.Fatalf("%s: %q is no command", parameters, c.Command)
	}
	o := new(outside)
	if code := o.run(p.t, append(words[1:], "--json")...); code != exitDone {
		p.t.Fatalf("%q: exit code %d: %s", c.Command, code, o.stderr.String())
	}
	if err := json.Unmarshal(o.stdout.Bytes(), v); err != nil {
		p.t.Fatalf("%q: %v", c.Command, err)
	}
}

// printed is the part of explain's JSON that views show too.
type printed struct {
	Devices []struct {
		Accounting struct {
			Event            int
			RequestedBytes   int64 `json:"requested_bytes"`
			RoundingBytes    int64 `json:"rounding_bytes"`
			PendingFreeBytes int64 `json:"pending_free_bytes"`
			CachedBytes      int64 `json:"cached_bytes"`
			ReservedBytes    int64 `json:"reserved_bytes"`
		}
		Holders struct {
			Blocks         int
			AllocatedBytes int64 `json:"allocated_bytes"`
			Groups         []namedBytes
			Tree           *namedBytes
		}
	}
	Diff struct {
		Changed []struct {
			Name        string
			BeforeBytes int64 `json:"before_bytes"`
			AfterBytes  int64 `json:"after_bytes"`
		}
	}
}

type namedBytes struct {
	Name   string
	Bytes  int64
	Blocks int
}

// moments are events to look at: the peak, the beginning, somewhere.
var moments = []string{"", "&event=0", "&event=1500"}

// TestCommandsOfMoments: the command of a view prints what the view shows.
func TestCommandsOfMoments(t *testing.T) {
	for _, name := range []string{"recordings/resnet50.pickle.xz", "recordings/leak_eval_outputs-oom.pickle.xz"} {
		p := newPageOf(t, name)
		for _, at := range moments {
			t.Run(name+at, func(t *testing.T) {
				p.t = t
				p.moment(at)
				p.flame(at)
				p.sites(at)
			})
		}
	}
}

// moment compares the spans of a moment with the command's accounting.
func (p *pageOf) moment(at string) {
	p.t.Helper()
	var x printed
	p.run("view=moment"+at, &x)
	var m struct {
		Event    int
		Segments []struct {
			SizeBytes int64 `json:"size_bytes"`
			Spans     struct{ Size, State []int64 }
		}
	}
	p.get("rec/"+p.devices[0]+"/moment?"+strings.TrimPrefix(at, "&"), &m)
	var reserved int64
	var states [3]int64
	for _, g := range m.Segments {
		reserved += g.SizeBytes
		for k, state := range g.Spans.State {
			states[state] += g.Spans.Size[k]
		}
	}
	a := x.Devices[0].Accounting
	want := [3]int64{a.CachedBytes, a.RequestedBytes + a.RoundingBytes, a.PendingFreeBytes}
	if m.Event != a.Event || states != want || reserved != a.ReservedBytes {
		p.t.Errorf("e%d: free, allocated, pending %v of %d; the command has %v of %d at e%d", m.Event, states, reserved, want, a.ReservedBytes, a.Event)
	}
}

// flame compares the whole of a flame graph with the command's tree.
func (p *pageOf) flame(at string) {
	p.t.Helper()
	var x printed
	p.run("view=flame"+at, &x)
	var f struct {
		Blocks     int
		TotalBytes int64 `json:"total_bytes"`
	}
	p.get("rec/"+p.devices[0]+"/flame?"+strings.TrimPrefix(at, "&"), &f)
	if h := x.Devices[0].Holders; h.Tree == nil || h.Tree.Bytes != f.TotalBytes || h.Tree.Blocks != f.Blocks {
		p.t.Errorf("%d bytes in %d blocks; the command has %+v", f.TotalBytes, f.Blocks, h.Tree)
	}
}

// sites compares the table of sites, row by row, with the command's holders.
func (p *pageOf) sites(at string) {
	p.t.Helper()
	var x printed
	p.run("view=tables&what=sites"+at, &x)
	if at == "" {
		at = fmt.Sprintf("&event=%d", x.Devices[0].Accounting.Event)
	}
	var a struct {
		Columns []struct{ Name string }
		Data    [][]any
	}
	p.get("rec/"+p.devices[0]+"/table/sites?count=1000"+at, &a)
	place := map[string]int{}
	for i, c := range a.Columns {
		place[c.Name] = i
	}
	var got []namedBytes
	for _, row := range a.Data {
		number := func(column string) int64 { return int64(row[place[column]].(float64)) }
		got = append(got, namedBytes{row[place["site"]].(string), number("held_bytes"), int(number("held_blocks"))})
	}
	byName := cmp.Transformer("ByName", func(list []namedBytes) map[string]namedBytes {
		m := map[string]namedBytes{}
		for _, v := range list {
			m[v.Name] = v
		}
		return m
	})
	if diff := cmp.Diff(x.Devices[0].Holders.Groups, got, byName); diff != "" {
		p.t.Errorf("sites%s (-command +page):\n%s", at, diff)
	}
}

// TestCommandOfTune: the command's peaks are those of the rows.
func TestCommandOfTune(t *testing.T) {
	p := newPageOf(t, "recordings/vit.pickle.xz")
	var x struct {
		Results []struct {
			AllocConf         string `json:"alloc_conf"`
			PeakReservedBytes int64  `json:"peak_reserved_bytes"`
		}
	}
	p.run("view=tune", &x)
	peaks := map[string]int64{}
	for _, r := range x.Results {
		peaks[r.AllocConf] = r.PeakReservedBytes
	}
	var j struct {
		Rows []struct {
			Conf              string
			PeakReservedBytes int64 `json:"peak_reserved_bytes"`
		}
	}
	p.get("rec/"+p.devices[0]+"/tune", &j)
	for _, row := range j.Rows {
		if peak, ok := peaks[row.Conf]; !ok || peak != row.PeakReservedBytes {
			t.Errorf("%q reserves %d, by the command %d", row.Conf, row.PeakReservedBytes, peak)
		}
	}
	if len(j.Rows) == 0 {
		t.Error("there are no rows")
	}
}

// TestCommandOfCompare: the command's changes, of which it lists ten, are those of the view.
func TestCommandOfCompare(t *testing.T) {
	p := newPageOf(t, "recordings/ddp-rank0.pickle.xz", "recordings/ddp-rank1.pickle.xz")
	for _, at := range []string{"", "&at_a=900&at_b=900"} {
		var x printed
		p.run("view=compare&other="+url.QueryEscape(p.devices[1])+at, &x)
		var j struct {
			Sites []struct {
				Site        string
				BeforeBytes int64 `json:"before_bytes"`
				AfterBytes  int64 `json:"after_bytes"`
			}
		}
		p.get("compare?a="+url.QueryEscape(p.devices[0])+"&b="+url.QueryEscape(p.devices[1])+at, &j)
		for i, c := range x.Diff.Changed {
			if s := j.Sites[i]; s.Site != c.Name || s.BeforeBytes != c.BeforeBytes || s.AfterBytes != c.AfterBytes {
				t.Errorf("change %d is %+v, by the command %+v", i, s, c)
			}
		}
		if len(x.Diff.Changed) == 0 && at == "" { // at e900 the ranks are alike
			t.Errorf("%q: nothing changed: this test shows nothing", at)
		}
	}
}

// TestCommandsThatRun: the other views' commands run.
func TestCommandsThatRun(t *testing.T) {
	p := newPageOf(t, "gpu/oom_stranded_on_stream.pickle.xz")
	for _, view := range []string{"view=findings", "view=timeline&by=category", "view=map&event=40&by=module", "view=timeline&by=stream", "view=flame&event=40&invert=1"} {
		var x printed
		if p.run(view, &x); len(x.Devices) != 1 {
			t.Errorf("%s: %d devices", view, len(x.Devices))
		}
	}
}

// TestNoCommand: where no command prints what is shown, that is said.
func TestNoCommand(t *testing.T) {
	p := newPageOf(t, "recordings/ddp-rank0.pickle.xz", "recordings/ddp-rank1.pickle.xz")
	for parameters, want := range map[string]string{
		"view=moment&event=-1":                                            "begin with the first event",
		"view=flame&from=3&to=9":                                          "not what was allocated in a range",
		"view=tables&what=blocks&event=9":                                 "--by stack --top -1",
		"view=tables&what=events":                                         "no list of single events",
		"view=tables&what=sites&q=linear":                                 "take the query and the range away",
		"view=compare&other=" + url.QueryEscape(p.devices[1]) + "&at_a=7": "both at the same event",
	} {
		status, body := p.ask("command?device=" + url.QueryEscape(p.devices[0]) + "&" + parameters)
		if status != http.StatusNotFound || !strings.Contains(string(body), want) {
			t.Errorf("%s: status %d, %s; want %q", parameters, status, body, want)
		}
	}
}
