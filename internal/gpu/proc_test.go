package gpu

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func file(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }

func link(to string) *fstest.MapFile {
	return &fstest.MapFile{Data: []byte(to), Mode: fs.ModeSymlink | 0o777}
}

// procRoot has process 4711, as the machine sees it.
func procRoot(namespace string) fstest.MapFS {
	return fstest.MapFS{
		"proc/self/ns/pid":  link(namespace),
		"proc/4711/status":  file("Name:\tpython\nUmask:\t0022\nUid:\t1001\t1001\t1001\t1001\nNSpid:\t4711\t17\n"),
		"proc/4711/cmdline": file("python\x00train.py\x00--lr\x000.1\x00"),
		"proc/4711/cgroup":  file("0::/system.slice/docker-" + idA + ".scope\n"),
		"proc/4711/stat":    file("4711 (py (x) 7) S 1 " + strings.Repeat("0 ", 17) + "987654 0 0\n"),
		"proc/4711/fd/0":    link("/dev/null"),
		"proc/4711/fd/7":    link("/dev/nvidia0"),
		"proc/4712/status":  file("Name:\tbash\nUid:\t0\t0\t0\t0\n"),
		"proc/4712/fd/0":    link("/dev/pts/0"),
	}
}

func users(uid int) string { return map[int]string{0: "root", 1001: "alice"}[uid] }

func TestDescribe(t *testing.T) {
	uid := 1001
	found := Process{
		PID: 4711, Name: "python", Command: "python train.py --lr 0.1", UID: &uid, User: "alice",
		NamespacePID: 17, StartTicks: 987654, Place: Place{Runtime: "docker", ContainerID: idA},
	}
	tests := []struct {
		name, namespace string
		pid             int
		want            Process
		notes           int
	}{
		{"on the machine", initialNamespace, 4711, found, 0},
		{"in a container, where it holds a device", "pid:[4026532899]", 4711, found, 0},
		{"in a container, where the PID is somebody else's", "pid:[4026532899]", 4712, Process{PID: 4712}, 1},
		{"in a container, where the PID is nobody's", "pid:[4026532899]", 99, Process{PID: 99}, 1},
		{"ended since", initialNamespace, 99, Process{PID: 99}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := Reading{Processes: []Process{{PID: tt.pid}}}
			newProcs(Machine{Root: procRoot(tt.namespace), User: users}).describe(&r)
			if diff := cmp.Diff(tt.want, r.Processes[0]); diff != "" {
				t.Errorf("describe (-want +got):\n%s", diff)
			}
			if len(r.Notes) != tt.notes {
				t.Errorf("notes %q, want %d", r.Notes, tt.notes)
			}
		})
	}
}

// TestDescribeAgain: a process is looked up once in a while, at once if its PID is another's
// now, and is forgotten when it has ended.
func TestDescribeAgain(t *testing.T) {
	root := procRoot(initialNamespace)
	p := newProcs(Machine{Root: root, User: users})
	names := func(n int) (changed int, last string) {
		for range n {
			r := Reading{Processes: []Process{{PID: 4711}}}
			p.describe(&r)
			if got := r.Processes[0].Name; got != last {
				changed, last = changed+1, got
			}
		}
		return changed, last
	}
	names(1)
	root["proc/4711/status"] = file("Name:\tother\nUid:\t0\t0\t0\t0\n")
	if changed, last := names(2 * againEvery); changed != 2 || last != "other" {
		t.Errorf("a new name was seen %d times, and last %q", changed, last)
	}
	root["proc/4711/status"] = file("Name:\tnext\nUid:\t0\t0\t0\t0\n")
	root["proc/4711/stat"] = file("4711 (next) S 1 " + strings.Repeat("0 ", 17) + "999999 0 0\n")
	if _, last := names(1); last != "next" {
		t.Errorf("another process of the PID is called %q", last)
	}
	delete(root, "proc/4711/status")
	delete(root, "proc/4711/stat")
	if _, last := names(1); last != "" || len(p.known) > 0 {
		t.Errorf("a process that has ended is called %q, and %d are known", last, len(p.known))
	}
}

func TestStartTicks(t *testing.T) {
	for stat, want := range map[string]int64{
		"1 (a) S " + strings.Repeat("0 ", 18) + "55 1":     55,
		"1 (a) b) c) S " + strings.Repeat("9 ", 18) + "56": 56,
		"1 (a) S 0 0": 0,
		"":            0,
		"1 (a) S " + strings.Repeat("0 ", 18) + "x": 0,
	} {
		if got := StartTicks(stat); got != want {
			t.Errorf("StartTicks(%q) = %d, want %d", stat, got, want)
		}
	}
}

// TestRecognize: a process without a name gets the one that this machine shows, if it is the
// same process.
func TestRecognize(t *testing.T) {
	m := bare()
	m.Root = fstest.MapFS{
		"proc/7/status":  file("Name:\tpython\nUid:\t1001\t1001\t1001\t1001\nNSpid:\t7\n"),
		"proc/7/cmdline": file("python\x00train.py\x00"),
		"proc/7/stat":    file("7 (python) S " + strings.Repeat("0 ", 18) + "987 0"),
	}
	r := Reading{Processes: []Process{
		{PID: 7, StartTicks: 987}, {PID: 7, StartTicks: 988}, {PID: 7}, {PID: 8, StartTicks: 987}, {PID: 7, StartTicks: 987, Name: "known"},
	}}
	Recognize(m, &r)
	var got []string
	for _, p := range r.Processes {
		got = append(got, p.Name+" "+p.Command)
	}
	if diff := cmp.Diff([]string{"python python train.py", " ", " ", " ", "known "}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
