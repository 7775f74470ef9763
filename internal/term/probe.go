package term

import (
	"io"

	xterm "golang.org/x/term"
)

// Probe asks the system about a stream. Anything without a file descriptor, such as a
// buffer or a network connection, is no terminal.
func Probe(stream any) Terminal {
	f, ok := stream.(interface {
		io.Writer
		Fd() uintptr
	})
	if !ok || !xterm.IsTerminal(int(f.Fd())) {
		return Terminal{UTF8: pipesUTF8}
	}
	t := Terminal{IsTerminal: true, ANSI: enableANSI(f.Fd()), UTF8: true}
	if w, _, err := xterm.GetSize(int(f.Fd())); err == nil {
		t.Width = w
	}
	return t
}
