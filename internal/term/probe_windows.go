package term

import "golang.org/x/sys/windows"

// pipesUTF8 is false: PowerShell 5 and cmd decode what comes through a pipe by the
// console's code page, so box-drawing characters would arrive garbled.
const pipesUTF8 = false

// enableANSI switches escape sequences on, which consoles before Windows 11's Terminal
// leave off, and tells whether that worked.
func enableANSI(fd uintptr) bool {
	h := windows.Handle(fd)
	var mode uint32
	if windows.GetConsoleMode(h, &mode) != nil {
		return false
	}
	if mode&windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING != 0 {
		return true
	}
	return windows.SetConsoleMode(h, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}
