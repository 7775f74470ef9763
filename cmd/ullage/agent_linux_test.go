package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ullage-dev/ullage/internal/client"
)

// TestAgentScripts runs the scripts that need an agent: the real one, on GPUs that do not
// exist. Each has one of its own, in a folder of a short name: the path of a socket has some
// hundred bytes at most.
//
// A script has these commands besides testscript's:
//
//	agent ARGS...         starts an agent, and waits until it has looked at its GPUs
//	fails CODE PROGRAM... runs a program that has to end with an exit code
//	agent-reload          has it read its settings again, and waits until it has
//	agent-end             ends it by SIGTERM, and checks that it ends well
//	agent-kill            ends it by SIGKILL
//	lease-is ID STATE     waits until a lease is in a state
//	log PATTERN           checks that the agent has logged a line that has a text
func TestAgentScripts(t *testing.T) {
	root := treeRoot(t)
	testscript.Run(t, testscript.Params{
		Dir:                filepath.Join("..", "..", "internal", "cli", "testdata", "script-agent"),
		RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error {
			dir, err := os.MkdirTemp("", "ul")
			if err != nil {
				return err
			}
			a := &scriptAgent{dir: dir}
			env.Defer(a.close)
			env.Values[agentKey{}] = a
			env.Setenv("S", dir)
			env.Setenv("ULLAGE_SOCKET", filepath.Join(dir, "s"))
			env.Setenv("TZ", "UTC")
			env.Setenv("TESTDATA", filepath.Join(root, "testdata"))
			env.Setenv("FAKES", filepath.Join(root, "python", "tests", "fake"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"agent":        func(ts *testscript.TestScript, _ bool, args []string) { agentOf(ts).start(ts, args) },
			"agent-reload": func(ts *testscript.TestScript, _ bool, _ []string) { agentOf(ts).reload(ts) },
			"agent-end":    func(ts *testscript.TestScript, _ bool, _ []string) { agentOf(ts).end(ts, syscall.SIGTERM) },
			"agent-kill":   func(ts *testscript.TestScript, _ bool, _ []string) { agentOf(ts).end(ts, syscall.SIGKILL) },
			"fails":        fails,
			"lease-is":     leaseIs,
			"log":          func(ts *testscript.TestScript, neg bool, args []string) { agentOf(ts).logged(ts, neg, args) },
		},
	})
}

type agentKey struct{}

// scriptAgent is the agent of a script.
type scriptAgent struct {
	dir    string // of socket, ledger and log
	cmd    *exec.Cmd
	notify *net.UnixConn
}

func agentOf(ts *testscript.TestScript) *scriptAgent { return ts.Value(agentKey{}).(*scriptAgent) }

func (a *scriptAgent) start(ts *testscript.TestScript, args []string) {
	address := filepath.Join(a.dir, "notify")
	var err error
	if a.notify == nil {
		a.notify, err = net.ListenUnixgram("unixgram", &net.UnixAddr{Name: address, Net: "unixgram"})
		ts.Check(err)
	}
	log, err := os.OpenFile(filepath.Join(a.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	ts.Check(err)
	defer log.Close()
	words := append([]string{"agent", "--state", filepath.Join(a.dir, "state"), "--metrics", ""}, args...)
	a.cmd = exec.Command(checked, words...)
	a.cmd.Dir, a.cmd.Stderr = ts.MkAbs("."), log
	a.cmd.Env = append(os.Environ(), "ULLAGE_SOCKET="+ts.Getenv("ULLAGE_SOCKET"), "NOTIFY_SOCKET="+address)
	ts.Check(a.cmd.Start())
	a.await(ts, "READY=1")
	agent := client.New(ts.Getenv("ULLAGE_SOCKET"))
	defer agent.Close()
	until(ts, func(ctx context.Context) (bool, string) {
		about, err := agent.About(ctx)
		ts.Check(err)
		return about.Ready, "the agent is not ready: " + about.Problem
	})
}

// until asks again and again whether something is so, and fails with what it said last.
func until(ts *testscript.TestScript, is func(context.Context) (bool, string)) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for {
		so, said := is(ctx)
		if so {
			return
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			ts.Fatalf("%s", said)
		}
	}
}

// fails runs a program that has to end with an exit code.
func fails(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); !errors.As(err, &exit) || exit.ExitCode() != want {
		ts.Fatalf("%v, not with exit code %d", err, want)
	}
}

// await waits for a word of the agent.
func (a *scriptAgent) await(ts *testscript.TestScript, word string) {
	ts.Check(a.notify.SetReadDeadline(time.Now().Add(30 * time.Second)))
	for {
		got := make([]byte, 256)
		n, err := a.notify.Read(got)
		if err != nil {
			log, _ := os.ReadFile(filepath.Join(a.dir, "log"))
			ts.Fatalf("the agent did not say %s: %v\n%s", word, err, log)
		}
		if string(got[:n]) == word {
			return
		}
	}
}

func (a *scriptAgent) reload(ts *testscript.TestScript) {
	ts.Check(a.cmd.Process.Signal(syscall.SIGHUP))
	a.await(ts, "READY=1")
}

// end ends the agent. By SIGTERM it has to end well.
func (a *scriptAgent) end(ts *testscript.TestScript, s syscall.Signal) {
	cmd := a.cmd
	a.cmd = nil
	ts.Check(cmd.Process.Signal(s))
	if err := cmd.Wait(); err != nil && s == syscall.SIGTERM {
		ts.Fatalf("the agent ended with %v", err)
	}
}

func (a *scriptAgent) close() {
	if a.cmd != nil {
		_ = a.cmd.Process.Kill()
		_ = a.cmd.Wait()
	}
	if a.notify != nil {
		a.notify.Close()
	}
	os.RemoveAll(a.dir)
}

func (a *scriptAgent) logged(ts *testscript.TestScript, neg bool, args []string) {
	log, err := os.ReadFile(filepath.Join(a.dir, "log"))
	ts.Check(err)
	if strings.Contains(string(log), args[0]) == neg {
		ts.Fatalf("the log has %q: %v\n%s", args[0], !neg, log)
	}
}

// leaseIs waits until a lease is in a state. A lease that is not there yet may come.
func leaseIs(ts *testscript.TestScript, _ bool, args []string) {
	id, err := strconv.ParseInt(args[0], 10, 64)
	ts.Check(err)
	agent := client.New(ts.Getenv("ULLAGE_SOCKET"))
	defer agent.Close()
	until(ts, func(ctx context.Context) (bool, string) {
		l, err := agent.Lease(ctx, id)
		if answer := new(client.AnswerError); err != nil && !errors.As(err, &answer) {
			ts.Check(err)
		}
		return l.State == args[1], fmt.Sprintf("lease %d is %q, not %s", id, l.State, args[1])
	})
}
