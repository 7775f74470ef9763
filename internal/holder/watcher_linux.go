package holder

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// watcher waits for the end of any number of processes with one goroutine and no thread: an
// epoll holds their pidfds, and is itself waited for by Go's poller.
type watcher struct {
	file *os.File // the epoll
	most int      // processes that are watched at once
	raw  syscall.RawConn
	news chan struct{}
	done chan struct{} // closed when the goroutine has ended

	mu   sync.Mutex
	byID map[ID]int // pidfd
	byFD map[int]ID
	dead []ID
}

func newWatcher() (*watcher, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("epoll: %w", err)
	}
	if err := unix.SetNonblock(epoll, true); err != nil { // or Go's poller does not take it
		unix.Close(epoll)
		return nil, fmt.Errorf("epoll: %w", err)
	}
	w := &watcher{
		file: os.NewFile(uintptr(epoll), "epoll"), most: mostWatched(), news: make(chan struct{}, 1), done: make(chan struct{}),
		byID: map[ID]int{}, byFD: map[int]ID{},
	}
	if w.raw, err = w.file.SyscallConn(); err != nil {
		w.file.Close()
		return nil, fmt.Errorf("epoll: %w", err)
	}
	go w.run()
	return w, nil
}

// mostWatched leaves files for others: a program that starts processes without end must not
// take the last one. Those beyond are asked about one by one.
func mostWatched() int {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return 64
	}
	return int(min(limit.Cur, 1<<18) / 4)
}

func (w *watcher) run() {
	defer close(w.done)
	events := make([]unix.EpollEvent, 64)
	for {
		n, err := 0, error(nil)
		closed := w.raw.Read(func(fd uintptr) bool {
			n, err = unix.EpollWait(int(fd), events, 0)
			for errors.Is(err, unix.EINTR) { // Go's poller tells of news once: none may be left
				n, err = unix.EpollWait(int(fd), events, 0)
			}
			return n != 0 || err != nil
		})
		if closed != nil || err != nil {
			return
		}
		w.note(events[:n])
	}
}

// note takes down who has ended. Since the events were fetched a file may have been closed and
// its number given to another process, so each is asked again.
func (w *watcher) note(events []unix.EpollEvent) {
	w.mu.Lock()
	for _, e := range events {
		if id, ok := w.byFD[int(e.Fd)]; ok && !alive(int(e.Fd)) {
			w.dead = append(w.dead, id)
			w.drop(id)
		}
	}
	w.mu.Unlock()
	select {
	case w.news <- struct{}{}:
	default: // a value is there already
	}
}

// drop closes a pidfd, which takes it out of the epoll. w.mu is held.
func (w *watcher) drop(id ID) {
	if fd, ok := w.byID[id]; ok {
		delete(w.byID, id)
		delete(w.byFD, fd)
		unix.Close(fd)
	}
}

// Watch has Deaths and Dead tell of the end of a process. ErrGone is its error where it has
// ended already, ErrMany where it lives and too many are watched.
func (w *watcher) Watch(id ID) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.byID[id]; ok {
		return nil
	}
	pidfd, err := open(id)
	if err != nil {
		return err
	}
	if len(w.byID) >= w.most {
		unix.Close(pidfd)
		return ErrMany
	}
	add := func(epoll uintptr) {
		err = unix.EpollCtl(int(epoll), unix.EPOLL_CTL_ADD, pidfd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(pidfd)})
	}
	if err = errors.Join(w.raw.Control(add), err); err != nil {
		unix.Close(pidfd)
		return fmt.Errorf("watch process %d: %w", id.PID, err)
	}
	w.byID[id], w.byFD[pidfd] = pidfd, id
	return nil
}

// Unwatch undoes Watch.
func (w *watcher) Unwatch(id ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.drop(id)
}

// Deaths has a value when Dead has news.
func (w *watcher) Deaths() <-chan struct{} { return w.news }

// Dead returns the watched processes that have ended since the last call. They are no
// longer watched.
func (w *watcher) Dead() []ID {
	w.mu.Lock()
	defer w.mu.Unlock()
	dead := w.dead
	w.dead = nil
	return dead
}

// Close ends the watching.
func (w *watcher) Close() error {
	err := w.file.Close()
	<-w.done
	w.mu.Lock()
	defer w.mu.Unlock()
	for id := range w.byID {
		w.drop(id)
	}
	return err
}
