package child

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// TestRunTree: the exit code is the program's, and the wait is for a grandchild that its
// parent has left. It runs in a process of its own, for it waits for all children.
func TestRunTree(t *testing.T) {
	const as = "ULLAGE_TEST_RUN_TREE"
	if script := os.Getenv(as); script != "" {
		// Orphans read a pipe that is closed when the program's end has been seen.
		input, closed, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		signals := make(chan os.Signal, 1)
		c := Command{Args: []string{"sh", "-c", "exec 5<&0; " + script}, Stdin: input, Stdout: os.Stdout, Environ: os.Environ()}
		code, all, err := RunTree(c, signals, func() {
			os.Stdout.WriteString("left ")
			if strings.Contains(script, "give up") {
				signals <- syscall.SIGTERM
				return
			}
			closed.Close()
		})
		if err != nil {
			t.Fatal(err)
		}
		if all {
			os.Stdout.WriteString("all ")
		}
		os.Exit(code)
	}
	for _, tt := range []struct {
		name, script string
		code         int
		want         string
	}{
		{"alone", "exit 3", 3, "all "},
		{"killed", "kill -9 $$", 128 + 9, "all "},
		{"orphan", "((cat <&5; printf 'orphan ') &); exit 4", 4, "left orphan all "},
		{"many orphans", "for i in 1 2 3 4 5 6 7 8 9; do (true &); done; (cat <&5 &); exit 0", 0, "left all "},
		{"gives up", "(sleep 60 >/dev/null 2>&1 & echo $! >&3); exit 5 # give up", 5, "left "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "-test.run=^TestRunTree$")
			cmd.Env = append(os.Environ(), as+"="+tt.script)
			pidFile, err := os.Create(t.TempDir() + "/pid")
			if err != nil {
				t.Fatal(err)
			}
			defer pidFile.Close()
			cmd.ExtraFiles = []*os.File{pidFile}
			var out bytes.Buffer
			cmd.Stdout = &out
			_ = cmd.Run()
			if code := cmd.ProcessState.ExitCode(); code != tt.code || out.String() != tt.want {
				t.Errorf("exit code %d, output %q; want %d, %q", code, out.String(), tt.code, tt.want)
			}
			endWritten(t, pidFile.Name())
		})
	}
}

// endWritten ends the process whose PID a script left in a file.
func endWritten(t *testing.T, name string) {
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if pid := strings.TrimSpace(string(text)); pid != "" {
		_ = exec.Command("kill", pid).Run()
	}
}
