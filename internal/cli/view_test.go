package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// shown is a run of ullage view that serves.
type shown struct {
	address string
	stderr  *bytes.Buffer
	stop    context.CancelFunc
	ended   chan int
	stdout  io.Reader // what follows the address
}

// startView runs ullage view until the page's address is there.
func startView(t *testing.T, o *outside, args ...string) *shown {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	read, write := io.Pipe()
	app := o.app()
	app.Stdout = write
	v := &shown{stderr: &o.stderr, stop: stop, ended: make(chan int, 1)}
	go func() {
		code := Run(ctx, app, append([]string{"view"}, args...))
		write.Close()
		v.ended <- code
	}()
	lines := bufio.NewReader(read)
	address, err := lines.ReadString('\n')
	if err != nil {
		t.Fatalf("exit code %d: %s", <-v.ended, &o.stderr)
	}
	v.address, v.stdout = strings.TrimSpace(address), lines
	t.Cleanup(stop)
	return v
}

// end interrupts the command. It must print no more, and end as it is meant to.
func (v *shown) end(t *testing.T) {
	t.Helper()
	v.stop()
	rest, err := io.ReadAll(v.stdout)
	if code := <-v.ended; code != exitDone || err != nil || len(rest) > 0 {
		t.Errorf("exit code %d, %v, then %q on standard output: %s", code, err, rest, v.stderr)
	}
}

func (v *shown) get(t *testing.T, path string, to any) {
	t.Helper()
	resp, err := http.Get(v.address + "api/v1/" + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v: %s", path, resp.Status, err, body)
	}
	if err := json.Unmarshal(body, to); err != nil {
		t.Fatal(err)
	}
}

// shownRecording is the part of the session that these tests read.
type shownRecording struct {
	ID, File, State string
	Error           *string
	Changed         bool
	Devices         []struct{ Dev int }
}

// loaded waits until all is read, as the page does, and returns the recordings.
func (v *shown) loaded(t *testing.T) []shownRecording {
	t.Helper()
	resp, err := http.Get(v.address + "api/v1/progress")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var session struct{ Recordings []shownRecording }
		if err := json.Unmarshal([]byte(data), &session); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(data, `"state":"waiting"`) && !strings.Contains(data, `"state":"reading"`) && !strings.Contains(data, `"state":"replaying"`) {
			return session.Recordings
		}
	}
	t.Fatalf("the session ends before all is read: %v", lines.Err())
	return nil
}

// testFile is a recording of the repository.
func testFile(name string) string {
	return filepath.Join("..", "..", "testdata", filepath.FromSlash(name))
}

// TestViewExplains: what the page is told of a device is what explain --json prints, field
// by field, with texts beside the recording too.
func TestViewExplains(t *testing.T) {
	for _, files := range [][]string{
		{"recordings/bert_varlen-lim16.pickle.xz"},
		{"recordings/fsdp2-rank0.pickle.xz"},
		{"leaks/leak_loss_history-oom.pickle.xz"},
		{"gpu/oom_checkerboard.summary.txt", "gpu/oom_checkerboard.pickle.xz"},
		{"gpu/state_only.pickle.xz"},
	} {
		var args []string
		for _, f := range files {
			args = append(args, testFile(f))
		}
		t.Run(files[len(files)-1], func(t *testing.T) {
			v := startView(t, &outside{}, append(args, "--no-open")...)
			recordings := v.loaded(t)
			r := recordings[len(recordings)-1]
			var explain outside
			if code := explain.run(t, append([]string{"explain", "--json"}, args...)...); code != exitDone {
				t.Fatal(explain.stderr.String())
			}
			var want struct{ Devices []any }
			if err := json.Unmarshal(explain.stdout.Bytes(), &want); err != nil {
				t.Fatal(err)
			}
			if len(want.Devices) != len(r.Devices) {
				t.Fatalf("%d devices in the page, %d in explain", len(r.Devices), len(want.Devices))
			}
			for i := range want.Devices {
				var got any
				v.get(t, fmt.Sprintf("rec/%s/%d/explain", r.ID, i), &got)
				if diff := cmp.Diff(want.Devices[i], got); diff != "" {
					t.Errorf("device %d (-explain +page):\n%s", i, diff)
				}
			}
			v.end(t)
		})
	}
}

// TestViewFiles: a file that cannot be read does not keep others from being shown, and one
// that changes on disk is marked.
func TestViewFiles(t *testing.T) {
	dir := t.TempDir()
	good, bad := filepath.Join(dir, "good.pickle.xz"), filepath.Join(dir, "bad.pickle")
	content, err := os.ReadFile(testFile("gpu/gan.pickle.xz"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{good: string(content), bad: "\x80\x04}."} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	v := startView(t, &outside{}, "--no-open", bad, good)
	r := v.loaded(t)
	if r[0].State != "failed" || r[0].Error == nil || r[1].State != "ready" || r[1].Changed {
		t.Errorf("%+v", r)
	}
	if err := os.WriteFile(good, append(content, 'x'), 0o644); err != nil {
		t.Fatal(err)
	}
	var session struct{ Recordings []shownRecording }
	v.get(t, "session", &session)
	if !session.Recordings[1].Changed {
		t.Error("the file has changed, and the page is not told")
	}
	v.end(t)
	if !strings.Contains(v.stderr.String(), "warning: ") {
		t.Errorf("no warning of the file that cannot be read: %s", v.stderr)
	}
}

// TestViewIDs: a recording has one name as long as its answers are the same ones.
func TestViewIDs(t *testing.T) {
	id := func(args ...string) string {
		v := startView(t, &outside{}, append(args, "--no-open")...)
		defer v.end(t)
		return v.loaded(t)[0].ID
	}
	file := testFile("gpu/gan.pickle.xz")
	plain := id(file)
	if again := id(file); again != plain {
		t.Errorf("%s, and then %s", plain, again)
	}
	if redacted := id(file, "--redact"); redacted == plain {
		t.Error("with --redact the answers are others, and their name is the same")
	}
	if other := id(testFile("gpu/no_stacks.pickle.xz")); other == plain {
		t.Error("two recordings of one name")
	}
}

// TestViewStdin: standard input is read once, and never changes.
func TestViewStdin(t *testing.T) {
	content, err := os.ReadFile(testFile("gpu/gan.pickle.xz"))
	if err != nil {
		t.Fatal(err)
	}
	v := startView(t, &outside{stdin: string(content)}, "--no-open", "-")
	if r := v.loaded(t); r[0].State != "ready" || r[0].File != "standard input" {
		t.Errorf("%+v", r)
	}
	v.end(t)
}

// TestViewPredicted: what fit predicts is shown like what was recorded.
func TestViewPredicted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "predicted.json")
	var o outside
	if code := o.run(t, "fit", "--trace", fitTrace, "--recording", file); code != exitDone {
		t.Fatal(o.stderr.String())
	}
	v := startView(t, &outside{}, "--no-open", file)
	r := v.loaded(t)
	var device struct {
		Peak struct {
			Reserved int64 `json:"reserved_bytes"`
		}
	}
	v.get(t, "rec/"+r[0].ID+"/0", &device)
	if device.Peak.Reserved != fitPeak {
		t.Errorf("a peak of %d bytes, predicted %d", device.Peak.Reserved, int64(fitPeak))
	}
	v.end(t)
}

// TestViewPortTaken: another program's port is told as such.
func TestViewPortTaken(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	var o outside
	code := o.run(t, "view", "--no-open", "--port", port, testFile("gpu/gan.pickle.xz"))
	if want := "port " + port + " is taken by another program\nhint: without --port"; code != exitFailed || !strings.Contains(o.stderr.String(), want) {
		t.Errorf("exit code %d: %s", code, &o.stderr)
	}
}

// TestViewNothing: where no file can be shown, the command ends by itself.
func TestViewNothing(t *testing.T) {
	o := outside{stdin: "\x80\x04}."} // a pickle of nothing, which only reading tells
	if code := o.run(t, "view", "--no-open", "-"); code != exitInput || !strings.Contains(o.stderr.String(), "error: ") {
		t.Errorf("exit code %d: %s", code, &o.stderr)
	}
}

// TestViewOpens: how the page is opened, or the user told how to get at it.
func TestViewOpens(t *testing.T) {
	ssh := map[string]string{"SSH_CONNECTION": "10.0.0.9 50000 10.0.0.5 22", "USER": "you"}
	tests := []struct {
		name string
		env  map[string]string
		want string
	}{
		{"over SSH", ssh, "ullage: this is a remote machine; on yours, run: ssh -N -L PORT:127.0.0.1:PORT you@10.0.0.5\n"},
		{"over SSH, without a name", map[string]string{"SSH_TTY": "/dev/pts/3"}, "ullage: this is a remote machine; on yours, run: ssh -N -L PORT:127.0.0.1:PORT HOST\n"},
		{"a browser that is not there", map[string]string{"BROWSER": "no-such-browser-here"}, "ullage: warning: no browser could be opened ("},
	}
	if runtime.GOOS != "darwin" && runtime.GOOS != "windows" {
		tests = append(tests, struct {
			name string
			env  map[string]string
			want string
		}{"no screen", nil, "ullage: there is no screen to open a browser on; the page is at the address above\n"})
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := &outside{env: tt.env}
			v := startView(t, o, testFile("gpu/gan.pickle.xz"))
			v.loaded(t)
			v.end(t)
			_, port, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(v.address, "http://"), "/"), ":")
			if want := strings.ReplaceAll(tt.want, "PORT", port); !strings.HasPrefix(o.stderr.String(), want) {
				t.Errorf("standard error %q, want %q", &o.stderr, want)
			}
		})
	}
}

// TestViewBrowser: the browser gets the page's address, and nothing else.
func TestViewBrowser(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the browser of this test is a shell script")
	}
	dir := t.TempDir()
	script, opened := filepath.Join(dir, "browser"), filepath.Join(dir, "opened")
	text := "#!/bin/sh\nprintf '%s\\n' \"$#\" \"$@\" > " + opened + "\n"
	if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	v := startView(t, &outside{env: map[string]string{"BROWSER": script + " --new-tab:other"}}, testFile("gpu/gan.pickle.xz"))
	v.loaded(t)
	v.end(t)
	got, err := os.ReadFile(opened)
	if want := "2\n--new-tab\n" + v.address + "\n"; err != nil || string(got) != want {
		t.Errorf("the browser got %q, want %q (%v); standard error %s", got, want, err, v.stderr)
	}
}

// TestViewRedacted: with --redact no answer holds a path or a name of the program, nor where
// the recording lies.
func TestViewRedacted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "secret-project")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(testFile("recordings/bert_varlen-lim16.pickle.xz"))
	if err != nil {
		t.Fatal(err)
	}
	good, bad := filepath.Join(dir, "run.pickle.xz"), filepath.Join(dir, "broken.pickle.xz")
	for name, text := range map[string][]byte{good: content, bad: []byte("PK nothing")} {
		if err := os.WriteFile(name, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	names := []string{"secret-project", "run.pickle", "/workspace", "workloads"}
	var plain outside
	plain.run(t, "explain", "--json", good)
	for _, name := range names {
		if !strings.Contains(plain.stdout.String(), name) {
			t.Fatalf("%q is not in the recording, and so proves nothing", name)
		}
	}
	v := startView(t, &outside{}, "--no-open", "--redact", good, bad)
	id := v.loaded(t)[0].ID
	dev := "rec/" + id + "/0"
	for _, path := range []string{
		"session", dev, dev + "/explain", dev + "/moment", dev + "/flame", dev + "/flame?invert=1", dev + "/event/5", dev + "/block/5",
		dev + "/table/sites?count=1000", dev + "/table/blocks?count=1000", dev + "/table/events?count=1000", dev + "/table/segments",
		"compare?a=" + id + "/0&b=" + id + "/0",
	} {
		var answer any
		v.get(t, path, &answer)
		text := fmt.Sprint(answer)
		for _, name := range append(names, "broken.pickle", "capture.py", dir) {
			if strings.Contains(text, name) {
				t.Errorf("%s holds %q", path, name)
			}
		}
	}
	v.end(t)
}

// TestViewSidecar: what `ullage run` leaves beside a recording is used: the rank, the device's
// size and the limit. A folder may be named.
func TestViewSidecar(t *testing.T) {
	dir := t.TempDir()
	content, err := os.ReadFile(testFile("gpu/gan.pickle.xz"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"a.pickle": string(content), "a.json": sidecarText} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	v := startView(t, &outside{}, "--no-open", dir)
	var device struct {
		Rank     int
		Capacity int64 `json:"capacity_bytes"`
		Limit    struct {
			Kind string
			Low  int64 `json:"low_bytes"`
			High int64 `json:"high_bytes"`
		}
	}
	v.get(t, "rec/"+v.loaded(t)[0].ID+"/0", &device)
	v.end(t)
	got := fmt.Sprintf("%+v", device)
	if want := "{Rank:3 Capacity:17179869184 Limit:{Kind:fraction Low:8589934592 High:8589934592}}"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
