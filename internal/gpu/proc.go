package gpu

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"sync"
)

// initialNamespace is what /proc/self/ns/pid points to on the machine itself: the kernel
// gives its first PID namespace this number (PROC_PID_INIT_INO, 0xEFFFFFFC).
const initialNamespace = "pid:[4026531836]"

// procs looks processes up in /proc.
type procs struct {
	root  fs.FS
	user  func(uid int) string
	host  bool // sees all processes by the PIDs that the driver tells
	apart bool // is in a PID namespace of its own

	mu    sync.Mutex
	known map[int]Process // what describe has found, by PID
	turn  int             // of describe
}

// SeesAll tells whether processes have the PIDs here that the driver tells, as they have on
// the machine itself and not within a container.
func SeesAll(root fs.FS) bool { return newProcs(Machine{Root: root}).host }

// againEvery is after how many readings a process is looked up anew whose PID is still its
// own: it may run another program, or be another user's. That takes some 80 µs, which is
// 1.6 % of a core for 200 processes if it is done once a second.
const againEvery = 16

func newProcs(m Machine) *procs {
	p := &procs{root: m.Root, user: m.User}
	link, err := fs.ReadLink(m.Root, "proc/self/ns/pid")
	p.host = err == nil && link == initialNamespace
	p.apart = err == nil && link != initialNamespace
	return p
}

// describe fills in who the processes of a reading are, and notes those that cannot be seen.
func (p *procs) describe(r *Reading) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.turn++
	before := p.known
	p.known = make(map[int]Process, len(before))
	hidden := 0
	for i := range r.Processes {
		to := &r.Processes[i]
		was, ok := before[to.PID]
		if ok && to.PID%againEvery != p.turn%againEvery && p.start(to.PID) == was.StartTicks {
			to.recall(&was)
		} else if !p.fill(to) {
			hidden++
			continue
		}
		if to.StartTicks != 0 {
			p.known[to.PID] = *to
		}
	}
	if hidden > 0 && p.apart {
		r.Notes = append(r.Notes, fmt.Sprintf("%s be seen from within this container, and stay without a name: it has its own process IDs", countOf(hidden)))
	}
}

func countOf(n int) string {
	if n == 1 {
		return "1 process cannot"
	}
	return fmt.Sprintf("%d processes cannot", n)
}

// Recognize names the processes that a reading leaves without a name, as an agent's does for
// those of other users, by what this machine shows of them to anybody. One is taken for
// the same only if it began at the same tick, so that no PID of elsewhere gets a name.
func Recognize(m Machine, r *Reading) {
	procs := procs{root: m.Root, user: m.User, host: true}
	for i := range r.Processes {
		p := &r.Processes[i]
		if p.Name != "" || p.StartTicks == 0 {
			continue
		}
		if found := *p; procs.fill(&found) && found.StartTicks == p.StartTicks {
			*p = found
		}
	}
}

// recall takes over what /proc said of a process.
func (p *Process) recall(was *Process) {
	p.Name, p.Command, p.UID, p.User = was.Name, was.Command, was.UID, was.User
	p.NamespacePID, p.StartTicks, p.Place = was.NamespacePID, was.StartTicks, was.Place
}

// start tells when the process that has a PID now began; 0 where there is none.
func (p *procs) start(pid int) int64 {
	text, err := readSome(p.root, "proc/"+strconv.Itoa(pid)+"/stat")
	if err != nil {
		return 0
	}
	return StartTicks(string(text))
}

// fill looks one process up. Within a container the driver may tell PIDs of the machine,
// which there belong to nobody or to somebody else. So a process counts as found only if it
// holds a device of the driver open, which its owner can see.
func (p *procs) fill(to *Process) bool {
	dir := "proc/" + strconv.Itoa(to.PID)
	status, err := readSome(p.root, dir+"/status")
	if err != nil || !p.host && !p.holdsDevice(dir) {
		return false
	}
	p.fillStatus(to, status)
	if line, err := readSome(p.root, dir+"/cmdline"); err == nil && len(line) > 0 {
		to.Command = commandLine(line)
	}
	if text, err := readSome(p.root, dir+"/cgroup"); err == nil {
		to.Place = PlaceOf(string(text))
	}
	to.StartTicks = p.start(to.PID)
	return true
}

func (p *procs) fillStatus(to *Process, status []byte) {
	for lines := bufio.NewScanner(bytes.NewReader(status)); lines.Scan(); {
		key, value, _ := strings.Cut(lines.Text(), ":")
		fields := strings.Fields(value)
		if len(fields) == 0 {
			continue
		}
		switch key {
		case "Name":
			to.Name = strings.TrimSpace(value)
		case "Uid": // real, effective, saved, of the file system
			if uid, err := strconv.Atoi(fields[0]); err == nil {
				to.UID, to.User = &uid, p.user(uid)
			}
		case "NSpid": // one a namespace, the innermost last
			if pid, err := strconv.Atoi(fields[len(fields)-1]); err == nil {
				to.NamespacePID = pid
			}
		}
	}
}

// holdsDevice tells whether a process has a device of the driver open.
func (p *procs) holdsDevice(dir string) bool {
	entries, err := fs.ReadDir(p.root, dir+"/fd")
	if err != nil {
		return false
	}
	for _, e := range entries {
		link, err := fs.ReadLink(p.root, dir+"/fd/"+e.Name())
		if err == nil && (strings.HasPrefix(link, "/dev/nvidia") || link == "/dev/dxg") {
			return true
		}
	}
	return false
}

// maxProcFile bounds what is read of a file in /proc: command lines can have megabytes.
const maxProcFile = 16 << 10

func readSome(root fs.FS, name string) ([]byte, error) {
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxProcFile))
}

// commandLine joins arguments, which /proc separates by zeros.
func commandLine(raw []byte) string {
	return strings.TrimSpace(strings.ReplaceAll(strings.TrimRight(string(raw), "\x00"), "\x00", " "))
}

// StartTicks finds when a process began, in ticks since the boot: the 22nd field of
// /proc/PID/stat; 0 if it is not there. The second is the program's name in
// brackets, in which anything can be, brackets too.
func StartTicks(stat string) int64 {
	end := strings.LastIndexByte(stat, ')')
	fields := strings.Fields(stat[end+1:])
	const start = 22 - 3 // the fields after the name begin with the third
	if end < 0 || len(fields) <= start {
		return 0
	}
	ticks, err := strconv.ParseInt(fields[start], 10, 64)
	if err != nil {
		return 0
	}
	return ticks
}
