package holder

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ullage-dev/ullage/internal/gpu"
)

// table is what is known of all processes. A look at one costs some 60 µs, which a second
// for each of a thousand would be 6 % of a core; so a scan looks at those that may have
// changed only. The list of /proc has an inode number with each PID, which the kernel gives
// to no two processes: where the number is still the same, so is the process. That the
// process runs another program now shows in nothing as cheap, so that is looked for in
// turns.
type table struct {
	proc    int // file descriptor of /proc
	known   map[int]*entry
	turn    uint32
	every   uint32 // turns after which a process is looked at again
	listing []byte // buffers, used again and again
	file    []byte
}

type entry struct {
	Process
	ppid  int
	inode uint64
	born  uint32 // the turn in which it was first seen
	seen  uint32 // the turn in which it was last seen
}

// A process is looked at again in each of the turns after it was first seen, since that is
// when the program of its parent becomes its own, and then every so many turns: as many as
// keep it to some of them in each.
const (
	youngTurns = 5
	everyTurns = 16
	perTurn    = 64
)

func newTable() (*table, error) {
	proc, err := unix.Open("/proc", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("/proc: %w", err)
	}
	return &table{proc: proc, known: map[int]*entry{}, file: make([]byte, 8<<10)}, nil
}

// scan looks at /proc once.
func (t *table) scan() (Changes, error) {
	var ch Changes
	t.turn++
	t.every = max(everyTurns, uint32(len(t.known)/perTurn))
	var began []*entry
	var failed error
	err := t.list(func(pid int, inode uint64) {
		e := t.known[pid]
		switch {
		case e == nil || e.inode != inode:
			fresh, err := t.meet(e, pid, inode, &ch)
			if fresh != nil {
				began = append(began, fresh)
			}
			failed = errors.Join(failed, err)
		case !t.due(e):
			e.seen = t.turn
		default:
			changed, over := t.again(e)
			if !over {
				e.seen = t.turn
			}
			if changed && !over {
				ch.Changed = append(ch.Changed, e.Process)
			}
		}
	})
	if err = errors.Join(err, failed); err != nil {
		return Changes{}, fmt.Errorf("list of /proc: %w", err)
	}
	ch.Ended = append(ch.Ended, t.forget()...)
	ch.Began = t.add(began)
	return ch, nil
}

// meet looks at a process of a PID that has a new inode. It is new itself, unless the kernel
// had only forgotten the inode of the one that is known: then the start is still the same.
func (t *table) meet(known *entry, pid int, inode uint64, ch *Changes) (*entry, error) {
	fresh, err := t.look(pid, inode)
	switch {
	case err != nil || fresh == nil:
		return nil, err
	case known == nil:
		return fresh, nil
	case known.ID != fresh.ID:
		ch.Ended = append(ch.Ended, known.ID)
		return fresh, nil
	}
	fresh.Parent, fresh.born = known.Parent, known.born
	t.known[pid] = fresh
	if known.Process != fresh.Process {
		ch.Changed = append(ch.Changed, fresh.Process)
	}
	return nil, nil
}

// due tells whether it is the turn of a process to be looked at again. The kernel's own
// threads, whose parent is process 2, stay what they are.
func (t *table) due(e *entry) bool {
	if e.ppid == 2 || e.PID == 2 {
		return false
	}
	return t.turn-e.born <= youngTurns || uint32(e.PID)%t.every == t.turn%t.every
}

// forget drops the processes that this turn has not seen.
func (t *table) forget() (ended []ID) {
	for pid, e := range t.known {
		if e.seen != t.turn {
			ended = append(ended, e.ID)
			delete(t.known, pid)
		}
	}
	return ended
}

// add takes new processes in.
func (t *table) add(began []*entry) (all []Process) {
	for _, e := range began {
		t.known[e.PID] = e
	}
	for _, e := range began {
		if p := t.known[e.ppid]; p != nil && p.Start <= e.Start {
			e.Parent = p.ID
		}
		all = append(all, e.Process)
	}
	slices.SortFunc(all, func(a, b Process) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.PID, b.PID)) })
	return all
}

// list calls see for each process of /proc.
func (t *table) list(see func(pid int, inode uint64)) error {
	if t.listing == nil {
		t.listing = make([]byte, 64<<10)
	}
	if _, err := unix.Seek(t.proc, 0, 0); err != nil {
		return err
	}
	for {
		n, err := unix.Getdents(t.proc, t.listing)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n <= 0 {
			return err
		}
		eachEntry(t.listing[:n], see)
	}
}

// eachEntry reads struct linux_dirent64: inode and offset of 8 bytes, the entry's length of
// 2, a type of 1, and the name up to a zero.
func eachEntry(list []byte, see func(pid int, inode uint64)) {
	const header = 19
	for len(list) >= header {
		length := int(binary.NativeEndian.Uint16(list[16:]))
		if length < header || length > len(list) {
			return
		}
		name, _, _ := bytes.Cut(list[header:length], []byte{0})
		if pid := number(name); pid > 0 {
			see(pid, binary.NativeEndian.Uint64(list))
		}
		list = list[length:]
	}
}

// number returns the PID that a name is, or 0.
func number(name []byte) (pid int) {
	for _, c := range name {
		if c < '0' || c > '9' || pid > 1<<30 {
			return 0
		}
		pid = pid*10 + int(c-'0')
	}
	return pid
}

// look reads all of a process, or returns nil if it has ended. An error is that nobody could
// tell.
func (t *table) look(pid int, inode uint64) (*entry, error) {
	raw, err := t.read(pid, "stat")
	if err != nil {
		return nil, unlessGone(err)
	}
	stat := string(raw)
	start, ppid, zombie := gpu.StartTicks(stat), parentOf(stat), zombieStat(stat)
	if start == 0 || ppid < 0 || zombie && ended(pid) {
		return nil, nil
	}
	e := &entry{Process: Process{ID: ID{pid, start}}, ppid: ppid, inode: inode, born: t.turn, seen: t.turn}
	t.again(e)
	return e, nil
}

// unlessGone drops the errors that say that a process has ended.
func unlessGone(err error) error {
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH) {
		return nil
	}
	return err
}

// parentOf returns the fourth field of /proc/PID/stat; -1 if it is not there.
func parentOf(stat string) int {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) < 2 {
		return -1
	}
	ppid, err := strconv.Atoi(fields[1])
	if err != nil {
		return -1
	}
	return ppid
}

// zombieStat tells whether the third field of /proc/PID/stat says that the first thread of
// the process has ended.
func zombieStat(stat string) bool {
	return strings.HasPrefix(stat[strings.LastIndexByte(stat, ')')+1:], " Z")
}

// ended tells whether a process whose first thread has ended has ended with it, and only
// nobody has waited for it yet. Its other threads may go on without the first.
func ended(pid int) bool {
	pidfd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return goneOr(err) == ErrGone
	}
	defer unix.Close(pidfd)
	return !alive(pidfd)
}

// again reads what can change of a process, and tells whether it has, or that the process
// has ended. What cannot be read is as it was.
func (t *table) again(e *entry) (changed, over bool) {
	before := e.Process
	status, _ := t.read(e.PID, "status")
	if bytes.Contains(status, []byte("\nState:\tZ")) && ended(e.PID) {
		return false, true
	}
	if uid, ok := realUID(status); ok {
		e.UID = uid
	}
	if env, _ := t.read(e.PID, "environ"); len(env) > 0 { // else it is another user's, or about to end
		e.Mark = markOf(env)
	}
	return e.Process != before, false
}

func realUID(status []byte) (int, bool) {
	_, rest, ok := bytes.Cut(status, []byte("\nUid:"))
	if !ok {
		return 0, false
	}
	fields := bytes.Fields(rest[:min(len(rest), 64)])
	if len(fields) == 0 {
		return 0, false
	}
	uid, err := strconv.Atoi(string(fields[0]))
	return uid, err == nil
}

// markOf finds the mark of an environment. The first of a name counts, as for getenv.
func markOf(environ []byte) Mark {
	var m Mark
	for name, to := range map[string]*int64{LeaseVariable: &m.Lease, EpochVariable: &m.Epoch} {
		n, err := strconv.ParseInt(variable(environ, name), 10, 64)
		if err != nil || n <= 0 {
			return Mark{}
		}
		*to = n
	}
	return m
}

func variable(environ []byte, name string) string {
	key := name + "="
	at := 0
	if !bytes.HasPrefix(environ, []byte(key)) {
		at = bytes.Index(environ, []byte("\x00"+key)) + 1
		if at == 0 {
			return ""
		}
	}
	value, _, _ := bytes.Cut(environ[at+len(key):], []byte{0})
	return string(value)
}

// maxFile bounds what is read of a file: an environment can have megabytes.
const maxFile = 1 << 20

// read returns a file of a process, which is good until the next call.
func (t *table) read(pid int, name string) ([]byte, error) {
	fd, err := unix.Openat(t.proc, strconv.Itoa(pid)+"/"+name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	for n := 0; ; {
		if n == len(t.file) {
			if n >= maxFile {
				return t.file, nil
			}
			t.file = append(t.file, make([]byte, n)...)
		}
		got, err := unix.Read(fd, t.file[n:])
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return nil, err
		case got == 0:
			return t.file[:n], nil
		default:
			n += got
		}
	}
}
