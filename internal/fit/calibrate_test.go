package fit

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

const cardRow = `{"e":"card","version":1,"index":0,"name":"NVIDIA H200","total_bytes":150109880320,"major":9,"minor":0,"multiprocessors":132,"max_threads_per_multiprocessor":2048,"driver":"580.159","nvml_total_bytes":150754820096}
{"e":"torch","torch":"2.11.0+cu130","cuda":"13.0","cudnn":91900,"nccl":"2.28.9"}
`

const endRow = `{"e":"end","seconds":40.5}` + "\n"

// calibrated makes a card of lines about it.
func calibrated(t *testing.T, lines ...string) *Profile {
	t.Helper()
	m, err := ReadMeasurements(strings.NewReader(cardRow+strings.Join(lines, "\n")+"\n"+endRow), "measured.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	p, err := m.Profile(time.Date(2026, 11, 30, 1, 2, 3, 0, time.UTC), CalibrationPlan())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// processRows are lines of a run: MiB of the process and of the device after each step from
// before on; -1 is what the driver does not tell.
func processRows(run int, others int, mine, device [8]int64) []string {
	tell := func(mib int64) string {
		if mib < 0 {
			return "null"
		}
		return fmt.Sprint(mib << 20)
	}
	var rows []string
	for i, what := range append([]string{"before"}, contextSteps...) {
		rows = append(rows, fmt.Sprintf(`{"e":"process","run":%d,"what":%q,"mine":%s,"device":%s,"others":%d,"reserved":%d}`, run, what, tell(mine[i]), tell(device[i]), others, min(i, 1)*2<<20))
	}
	return rows
}

var unknown = [8]int64{-1, -1, -1, -1, -1, -1, -1, -1}

func TestCalibrateContext(t *testing.T) {
	steps := [8]int64{-1, 602, 612, 622, 672, 732, 752, 762}
	again := [8]int64{-1, 602, 612, 622, 672, 732, 760, 770}
	device := [8]int64{1000, 1602, 1612, 1622, 1672, 1732, 1752, 1762}
	mib := func(base, cublas, cudnn, spread int64) Context {
		return Context{BaseBytes: base << 20, CuBLASBytes: cublas << 20, CuBLASMoreBytes: cublas << 20, CuDNNBytes: cudnn << 20, SpreadBytes: spread << 20}
	}
	usual := mustProfile(t, "h200").Context
	for _, tt := range []struct {
		name  string
		rows  []string
		want  Context
		about CalibratedTerm
		text  string
	}{
		{"twice alike", append(processRows(1, 0, steps, unknown), processRows(2, 0, steps, unknown)...), mib(620, 60, 20, 24), CalibratedTerm{Origin: Measured}, "measured twice, 0 MiB apart"},
		{"twice, apart", append(processRows(1, 0, steps, unknown), processRows(2, 3, again, unknown)...), mib(620, 60, 28, 24), CalibratedTerm{Origin: Measured, Noisy: true}, "8 MiB apart"},
		{"once", processRows(2, 0, steps, device), mib(620, 60, 20, 24), CalibratedTerm{Origin: Measured}, "measured once"},
		{"from the device", append(processRows(1, 0, unknown, device), processRows(2, 0, unknown, device)...), mib(620, 60, 20, 24), CalibratedTerm{Origin: Measured}, "does not tell processes apart"},
		{"from a shared device", processRows(1, 2, unknown, device), mib(620, 60, 20, 24), CalibratedTerm{Origin: Measured, Noisy: true}, "other processes used the card"},
		{"not told", processRows(1, 0, unknown, unknown), usual, CalibratedTerm{Origin: Assumed}, "the driver does not tell"},
		{"broke off", append(processRows(1, 0, steps, device)[:4], `{"e":"left","what":"context","why":"out of memory"}`), usual, CalibratedTerm{Origin: Assumed}, "not measured (out of memory): as on another NVIDIA H200"},
		{"nothing", nil, usual, CalibratedTerm{Origin: Assumed}, "not measured"},
	} {
		p := calibrated(t, tt.rows...)
		got, term := p.Context, p.Calibration.term("context")
		got.NCCL = tt.want.NCCL
		if got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
		if term.Origin != tt.about.Origin || term.Noisy != tt.about.Noisy || !strings.Contains(term.Text, tt.text) {
			t.Errorf("%s: %+v", tt.name, term)
		}
	}
}

func TestCalibrateCommunicators(t *testing.T) {
	usual := mustProfile(t, "h200").Context.NCCL
	row := func(rank, ranks int, own bool, steps ...int64) string {
		taken := map[string][3]*int64{}
		for i, mib := range steps {
			reserved, inUse := int64(20<<20), (mib+20)<<20
			use := [3]*int64{nil, &inUse, &reserved}
			if own {
				use[0] = &inUse
			}
			if mib < 0 {
				use = [3]*int64{nil, nil, &reserved}
			}
			taken[[]string{"before", "first", "made", "second", "scatter", "exchange"}[i]] = use
		}
		text, _ := json.Marshal(map[string]any{"e": "nccl", "rank": rank, "ranks": ranks, "taken": taken})
		return string(text)
	}
	mib := func(library, communicator, rings, messages, send, receive int64) NCCLContext {
		return NCCLContext{library << 20, communicator << 20, rings << 20, messages << 20, send << 20, receive << 20}
	}
	h200 := mib(355, 197, 288, 58, 64, 320)
	if usual != h200 {
		t.Fatalf("the H200 that ships: %+v", usual)
	}
	for _, tt := range []struct {
		name   string
		rows   []string
		want   NCCLContext
		origin string
		noisy  bool
		text   string
	}{
		{"two ranks", []string{row(0, 2, true, 600, 900, 950, 1050, 1080, 1130), row(1, 2, true, 600, 900, 950, 1050, 1110, 1130)}, mib(150, 50, 100, 10, 20, 50), Measured, false, "20 to send, 50 to receive"},
		{"made late", []string{row(0, 2, true, 600, 1440, 1440, 1924)}, mib(356, 197, 287, 58, 64, 320), Measured, false, "communicator 197 (of the sum, as of h200), rings 287"},
		{"one rank", []string{row(0, 1, true, 600, 900, 900, 950)}, mib(250, 50, 288, 58, 64, 320), Measured, false, "as of h200, for there was no second GPU"},
		{"of the card", []string{row(0, 1, false, 600, 900, 900, 950)}, mib(250, 50, 288, 58, 64, 320), Measured, true, "the whole card"},
		{"the second is missing", []string{row(0, 2, true, 600, 900, 950, 1050, 1080, 1130)}, mib(150, 50, 100, 58, 64, 320), Measured, false, "the second rank did not tell"},
		{"not told", []string{row(0, 1, false, -1, -1, -1, -1)}, h200, Assumed, false, "does not tell"},
		{"left", []string{`{"e":"left","what":"nccl","why":"it was not done after 60 seconds"}`}, h200, Assumed, false, "not done after 60 seconds"},
		{"nothing", nil, h200, Assumed, false, "no line"},
	} {
		p := calibrated(t, tt.rows...)
		term := p.Calibration.term("nccl")
		if p.Context.NCCL != tt.want || term.Origin != tt.origin || term.Noisy != tt.noisy || !strings.Contains(term.Text, tt.text) {
			t.Errorf("%s: %+v, want %+v: %+v", tt.name, p.Context.NCCL, tt.want, term)
		}
	}
}

func TestCalibrateWorkspaces(t *testing.T) {
	product := func(what string, kept ...int64) string {
		text, _ := json.Marshal(map[string]any{"e": "product", "what": what, "kept": append([]int64{}, kept...)})
		return string(text)
	}
	for _, tt := range []struct {
		name      string
		rows      []string
		blas, lt  int64
		origin    string
		noisy     bool
		predicted int64 // for a handle and stream
	}{
		{"both", []string{product("mm", 4<<20), product("addmm", 4<<20, 1<<20), product("stream", 4<<20)}, 4 << 20, 1 << 20, Measured, false, 4 << 20},
		{"shared by cuBLASLt", []string{product("mm", 4<<20), product("addmm", 4<<20), product("stream", 4<<20)}, 4 << 20, 0, Measured, false, 4 << 20},
		{"another on a stream", []string{product("mm", 4<<20), product("addmm", 4<<20), product("stream")}, 4 << 20, 0, Measured, true, 4 << 20},
		{"two answers", []string{product("mm", 4<<20), product("addmm", 4<<20), product("mm", 8<<20)}, 0, 0, Computed, false, 32 << 20},
		{"nothing", nil, 0, 0, Computed, false, 32 << 20},
	} {
		p := calibrated(t, tt.rows...)
		cal := p.Calibration
		if term := cal.term("cublas"); cal.CuBLASWorkspace != tt.blas || cal.CuBLASLtWorkspace != tt.lt || term.Origin != tt.origin || term.Noisy != tt.noisy {
			t.Errorf("%s: %d and %d, %+v", tt.name, cal.CuBLASWorkspace, cal.CuBLASLtWorkspace, term)
		}
		if got := blasWorkspaceBytes(p, nil); got != tt.predicted {
			t.Errorf("%s: predicted with %d, want %d", tt.name, got, tt.predicted)
		}
	}
}

// TestCalibrateTerms: calls of a sort of 20,000 float32, of which the model knows what they take:
// an order of 8 bytes each, and radixBytes.
func TestCalibrateTerms(t *testing.T) {
	call := func(n int64, scratch ...int64) string {
		events := []int64{4 * n, 8 * n}
		events = append(events, scratch...)
		for i := range scratch {
			events = append(events, -int64(i+2)-1)
		}
		list, _ := json.Marshal(events)
		return fmt.Sprintf(`{"e":"call","term":"sorting","op":"aten.sort.default","in":[["float32",[%d],null]],"args":{"self":0,"dim":-1,"descending":false},"out":[["float32",[%d],null],["int64",[%d],null]],"events":%s,"results":[0,1]}`,
			n, n, n, list)
	}
	const n, few = 2_000_000, 1000
	known := radixBytes(n, 4)
	for _, tt := range []struct {
		name         string
		rows         []string
		calls, exact int
		times        float64
		unseen       int64
	}{
		{"as computed", []string{call(n, 8*n, known)}, 1, 1, 0, 0},
		{"a few bytes more", []string{call(n, 8*n, known+300)}, 1, 0, 0, 0},
		{"less", []string{call(n, 8*n)}, 1, 0, 0, 0},
		{"twice as much", []string{call(n, 8*n, known), call(n, 16*n, 2*known)}, 2, 1, 2, 0},
		{"where little was computed", []string{call(few, 8*few, 3<<20)}, 1, 0, 0, 3 << 20},
	} {
		term := calibrated(t, tt.rows...).Calibration.term("sorting")
		if term.Calls != tt.calls || term.Exact != tt.exact || term.Times < tt.times*0.999 || term.Times > tt.times*1.001 || term.UnseenBytes/(1<<20) != tt.unseen/(1<<20) {
			t.Errorf("%s: %+v", tt.name, term)
		}
	}
	if other := calibrated(t).Calibration.term("attention"); other.Calls != 0 || !strings.Contains(other.Text, "no call was measured") {
		t.Errorf("%+v", other)
	}
}

// TestCalibrateConvolutions: workspaces are those of the plan, and are compared with the H200's; on
// a card without TF32 they are of float32.
func TestCalibrateConvolutions(t *testing.T) {
	plan := CalibrationPlan()
	var rows []string
	want := 0
	for i, c := range plan[:400] {
		var bytes [3]int64
		for d := range bytes {
			bytes[d] = measuredConvs().estimate(c.shape, convDir(d)).bytes
		}
		if c.shape.ownKernel() {
			continue
		}
		want++
		rows = append(rows, fmt.Sprintf(`{"e":"convolution","i":%d,"bytes":[%d,%d,%d]}`, i, bytes[0], bytes[1], bytes[2]))
	}
	p := calibrated(t, append(rows, `{"e":"convolution","i":99999,"bytes":[0,0,0]}`, `{"e":"convolutions","tried":400,"of":9}`)...)
	got := &p.Calibration.Convolutions
	if len(got.Rows) != want || got.Compared < comparedLeast || got.Equal != got.Compared {
		t.Errorf("%d rows, want %d; %d of %d equal", len(got.Rows), want, got.Equal, got.Compared)
	}
	if term := p.Calibration.term("convolution"); !strings.Contains(term.Text, "taken from there") {
		t.Error(term.Text)
	}
	old := strings.Replace(cardRow, `"major":9`, `"major":7`, 1)
	m, err := ReadMeasurements(strings.NewReader(old+rows[0]+"\n"+rows[1]+"\n"+endRow), "old")
	if err != nil {
		t.Fatal(err)
	}
	p, err = m.Profile(time.Time{}, plan)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(p.Calibration.Convolutions.Rows, func(r string) bool { return strings.HasPrefix(r, "f32 ") }) {
		t.Errorf("%q", p.Calibration.Convolutions.Rows)
	}
}

// TestCalibrateUnknownCard: a card that nobody has heard of is like the nearest of its generation.
func TestCalibrateUnknownCard(t *testing.T) {
	row := strings.NewReplacer("NVIDIA H200", "NVIDIA GeForce RTX 4070 Ti", `"major":9`, `"major":8`, `"minor":0`, `"minor":9`, ":132,", ":60,", "150109880320", "12600000000").Replace(cardRow)
	m, err := ReadMeasurements(strings.NewReader(row+endRow), "x")
	if err != nil {
		t.Fatal(err)
	}
	p, err := m.Profile(time.Time{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if p.Name != "rtx-4070-ti" || p.Context != mustProfile(t, "l4").Context || !strings.Contains(p.Calibration.term("context").Text, "as of l4") {
		t.Errorf("%s: %+v, %s", p.Name, p.Context, p.Calibration.term("context").Text)
	}
}

// TestCalibrationPlan: the most used layers in the most used forms come first, each once.
func TestCalibrationPlan(t *testing.T) {
	plan := CalibrationPlan()
	seen := map[string]bool{}
	for _, c := range plan {
		if row := formatConv(&c.shape, [3]int64{}); seen[row] {
			t.Errorf("%s: twice", row)
		} else if _, _, why := parseConv(row); why != "" {
			t.Errorf("%s: %s", row, why)
		} else {
			seen[row] = true
		}
	}
	first, err := json.Marshal(plan[:2])
	if want := `[["bf16",0,64,3,224,224,32,3,3,2,1,1,1],["tf32",0,64,3,224,224,32,3,3,2,1,1,1]]`; err != nil || string(first) != want {
		t.Errorf("%s, %v", first, err)
	}
	if len(plan) < 10000 {
		t.Errorf("%d convolutions", len(plan))
	}
}

func TestReadMeasurementsRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                     "m:1: has no line about the card",
		"Killed\n":             "m:1: expected a JSON object",
		cardRow + "{":          "m:3: expected a JSON object",
		`{"e":"torch"}` + "\n": "m:1: has no line about the card",
		`{"e":"card"}`:         "m:1: is of version 0",
		cardRow + `{"e":"convolution","i":0,"bytes":[-2,0,0]}`: "m:3: a workspace of -2",
		cardRow + `{"e":"process","mine":"much"}`:              "m:3: json",
	} {
		if _, err := ReadMeasurements(strings.NewReader(text), "m"); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// FuzzCalibrate: no measurements fail otherwise than by an error, and a card that comes of them can be
// written and read.
func FuzzCalibrate(f *testing.F) {
	f.Add(cardRow + strings.Join(processRows(1, 0, unknown, [8]int64{1, 2, 3, 4, 5, 6, 7, 8}), "\n") + "\n" + endRow)
	f.Add(cardRow + `{"e":"call","term":"sorting","op":"aten.sort.default","in":[["float32",[9],null]],"args":{"self":0},"out":[],"events":[36,72,-2,-9],"results":[0,7]}` + "\n" + endRow)
	f.Add(cardRow + `{"e":"nccl","ranks":1,"rank":0,"taken":{"before":[1,2,3]}}` + "\n" + `{"e":"product","what":"mm","kept":[1]}` + "\n" + `{"e":"convolution","i":3,"bytes":[0,-1,9]}` + "\n" + endRow)
	plan := CalibrationPlan()[:10]
	f.Fuzz(func(t *testing.T, text string) {
		m, err := ReadMeasurements(strings.NewReader(text), "fuzz")
		if err != nil {
			return
		}
		p, err := m.Profile(time.Time{}, plan)
		if err != nil {
			return
		}
		data, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ParseProfile(data, "again"); err != nil {
			t.Fatalf("%v: %s", err, data)
		}
	})
}
