package child

import "os"

// RunTree is Run for a program and all that descends from it: it returns when the last of them
// has ended, with the program's own exit code. left is called once if the program has ended
// before the others. A signal that asks for an end gives up the waiting then: all is false.
//
// Only Linux lets a process wait for grandchildren whose parents have ended. Elsewhere RunTree
// waits for the program alone, and all is false.
func RunTree(c Command, signals <-chan os.Signal, left func()) (code int, all bool, err error) {
	if !adoptOrphans() {
		code, err = Run(c, signals)
		return code, false, err
	}
	cmd, err := start(c)
	if err != nil {
		return 0, false, err
	}
	programEnded := make(chan struct{})
	gone := reapOrphans(cmd.Process.Pid, programEnded)
	code, err = await(cmd, signals)
	close(programEnded)
	if haveChildren() {
		left()
	}
	for {
		select {
		case <-gone:
			return code, true, err
		case s := <-signals:
			if asksForEnd(s) {
				return code, false, err
			}
		}
	}
}
