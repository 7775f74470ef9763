package cli

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/ullage-dev/ullage/internal/report"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/term"
	"github.com/ullage-dev/ullage/internal/triage"
)

// TestInterview plays whole interviews on a terminal.
func TestInterview(t *testing.T) {
	for _, c := range []struct {
		name    string
		typed   string
		args    []string
		printed []string // on standard output
		said    []string // on standard error
	}{
		{"by numbers", "4\n1\n1\n", nil, []string{"Likely leak/notebook-out"}, []string{"What happens?", "   4  stays ", "Is it a notebook"}},
		{"by words and beginnings", "st\nERROR\ny\n", nil, []string{"Likely leak/notebook-out"}, nil},
		{"a beginning that several have", "s\nstays\nend\n", nil, []string{"Likely third/zombie-process"}, []string{`"s" is none of them`}},
		{"explained", "?\nq\n", nil, []string{"Nothing is known yet"}, []string{"Take what you would tell first."}},
		{"back", "oom\nb\nstays\nend\n", nil, []string{"Likely third/zombie-process"}, []string{"Which error is it?"}},
		{"back at the first", "b\nq\n", nil, []string{"Nothing is known yet"}, []string{"this is the first question"}},
		{"back does not take back what was given", "b\nerror\nno\n", []string{"--answer", "symptom=stays"}, []string{"Likely leak/exception-frame"}, []string{"this is the first question"}},
		{"ends with the input", "stays\n", nil, []string{"Not told apart yet", "Next question: After what does it stay?"}, nil},
		{"ends without a line break", "stays\nend", nil, []string{"Likely third/zombie-process"}, nil},
		{"numbers that are none", "0\n11\n-1\n99999999999999999999\nstays\nend\n", nil, []string{"Likely third/zombie-process"}, []string{`"0" is none of them`, `"11" is none of them`, `"-1" is none`, `"99999999999999999999" is none`}},
		{"control characters", "\x1b[31m\x07\nq\n", nil, []string{"Nothing is known yet"}, []string{`"\x1b[31m\a" is none of them`}},
		{"nothing is left to ask", "", []string{"--answer", "symptom=stays", "--answer", "after=end"}, []string{"Likely third/zombie-process"}, nil},
		{"not under --json", "stays\nend\n", []string{"--json"}, []string{`"complete": false`}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := outside{stdin: c.typed, terminal: term.Terminal{IsTerminal: true, UTF8: true, Width: 100}}
			if code := o.run(t, append([]string{"triage", "--elsewhere"}, c.args...)...); code != exitDone {
				t.Fatalf("exit code %d: %s", code, o.stderr.String())
			}
			for _, want := range c.printed {
				if !strings.Contains(o.stdout.String(), want) {
					t.Errorf("standard output lacks %q:\n%s", want, o.stdout.String())
				}
			}
			for _, want := range c.said {
				if !strings.Contains(o.stderr.String(), want) {
					t.Errorf("standard error lacks %q:\n%s", want, o.stderr.String())
				}
			}
		})
	}
}

// TestNobodyToAsk: where standard input is no terminal nothing is read from it, whatever the
// other streams are.
func TestNobodyToAsk(t *testing.T) {
	var o outside
	app := o.app()
	app.Stdin = readerFunc(func([]byte) (int, error) {
		t.Error("standard input was read")
		return 0, io.EOF
	})
	app.Probe = func(stream any) term.Terminal {
		_, in := stream.(readerFunc)
		return term.Terminal{IsTerminal: !in, Width: 80}
	}
	if code := Run(t.Context(), app, []string{"triage", "--elsewhere", "--answer", "symptom=grows"}); code != exitDone {
		t.Errorf("exit code %d: %s", code, o.stderr.String())
	}
	if !strings.Contains(o.stdout.String(), "--answer what=allocated") {
		t.Errorf("it is not told what is missing: %s", o.stdout.String())
	}
}

// FuzzInterview: whatever is typed, an interview ends, and ends well.
func FuzzInterview(f *testing.F) {
	for _, typed := range []string{"", "4\n1\n1\n", "oom\nb\n?\nq\n", "b\nb\nb\n", "\x00\xff\n\n\n10\n10\n", "grows\r\nwhat\r\n"} {
		f.Add(typed)
	}
	f.Fuzz(func(t *testing.T, typed string) {
		o := outside{stdin: typed, terminal: term.Terminal{IsTerminal: true, Width: 80}}
		if code := o.run(t, "triage", "--elsewhere"); code != exitDone {
			t.Errorf("exit code %d: %s", code, o.stderr.String())
		}
		if strings.ContainsRune(o.stderr.String(), '\x1b') {
			t.Errorf("an escape reached the terminal: %q", o.stderr.String())
		}
	})
}

// TestInterviewStops: an interrupt ends the wait for an answer.
func TestInterviewStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	o := outside{terminal: term.Terminal{IsTerminal: true}}
	app := o.app()
	app.Stdin = readerFunc(func([]byte) (int, error) {
		cancel()
		<-t.Context().Done() // a keyboard that nobody touches
		return 0, t.Context().Err()
	})
	if code := Run(ctx, app, []string{"triage", "--elsewhere"}); code != exitInterrupted {
		t.Errorf("exit code %d", code)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// TestTriageLooks: recordings and sources of every kind answer questions, and what they say
// of causes is taken up.
func TestTriageLooks(t *testing.T) {
	for _, c := range []struct {
		name   string
		args   []string
		answer triage.Answers // that have to be known
		seen   string         // a rule that has to be among the sights
		first  string         // the cause that has to come first, where one has to
	}{
		{"a leak", []string{"../../testdata/gpu/leak_every_tenth.pickle.xz"}, triage.Answers{"symptom": "grows", "what": "allocated"}, "leak/growing-site", ""},
		{"fragmentation", []string{"../../testdata/gpu/oom_checkerboard.pickle.xz"}, triage.Answers{"symptom": "oom", "message": "pieces"}, "oom/fragmentation", ""},
		{"a limit", []string{"../../testdata/gpu/oom_checkerboard.pickle.xz", "--answer", "message=limit"}, triage.Answers{"symptom": "oom", "message": "limit"}, "oom/fragmentation", "conf/fraction-as-isolation"},
		{"stranded on a stream", []string{"../../testdata/gpu/oom_stranded_on_stream.pickle.xz"}, triage.Answers{"symptom": "oom"}, "oom/stranded", ""},
		{"a mistake that a recording shows", []string{"../../testdata/leaks", "../../testdata/leaks/leak_running_total.pickle.xz", "--answer", "where=training", "--answer", "loop=sum"}, triage.Answers{"symptom": "grows", "what": "allocated"}, "leak/growing-site", "leak/loss-with-graph"},
		{"a healthy run", []string{"../../testdata/gpu/train_mlp_adamw.pickle.xz"}, triage.Answers{}, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var o outside
			if code := o.run(t, append([]string{"triage", "--elsewhere", "--json"}, c.args...)...); code != exitDone {
				t.Fatalf("exit code %d: %s", code, o.stderr.String())
			}
			var got report.TriageJSON
			if err := json.Unmarshal(o.stdout.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			answers := map[string]string{}
			for _, a := range got.Answers {
				answers[a.Question] = a.Answer
			}
			for key, want := range c.answer {
				if answers[key] != want {
					t.Errorf("%s is %q, want %q", key, answers[key], want)
				}
			}
			seen := map[string]bool{}
			for _, s := range got.Seen {
				seen[s.Rule] = true
			}
			if c.seen != "" && !seen[c.seen] {
				t.Errorf("%s was not seen, but %v", c.seen, seen)
			}
			if c.first != "" && (len(got.Causes) == 0 || got.Causes[0].Rule != c.first) {
				t.Errorf("the causes are %+v, want %s first", got.Causes, c.first)
			}
		})
	}
}

// TestTriageMachine: what doctor finds is taken up, also where nothing was asked.
func TestTriageMachine(t *testing.T) {
	o := outside{env: map[string]string{"PYTORCH_CUDA_ALLOC_CONF": "garbage_collection_threshold:0.8"}}
	if code := o.run(t, "triage", "--python", "none", "--answer", "symptom=setting", "--answer", "setting=gc"); code != exitDone {
		t.Fatalf("exit code %d: %s", code, o.stderr.String())
	}
	if got := o.stdout.String(); !strings.HasPrefix(got, "Very likely conf/inert-gc") {
		t.Errorf("it begins with %.80q", got)
	}
	o = outside{env: o.env}
	o.run(t, "triage", "--elsewhere", "--answer", "symptom=setting", "--answer", "setting=gc")
	if got := o.stdout.String(); !strings.HasPrefix(got, "Likely conf/inert-gc") {
		t.Errorf("with --elsewhere this machine was looked at: %.80q", got)
	}
}

// TestTriageAgent: what the agent knows of jobs is seen, answers nothing by itself, and makes
// a cause that is answered for certain.
func TestTriageAgent(t *testing.T) {
	state := leasedState(t)
	slope := float64(3 << 20)
	state.Jobs[0].Devices[0].Slope = &slope
	state.Jobs[0].Orphan = true
	socket := serveState(t, state)
	var o outside
	if code := o.run(t, "triage", "--python", "none", "--socket", socket, "--answer", "symptom=stays", "--answer", "after=end"); code != exitDone {
		t.Fatalf("exit code %d: %s", code, o.stderr.String())
	}
	got := o.stdout.String()
	for _, want := range []string{"Very likely third/zombie-process", "allocated memory grows by 3.00 MiB a step", "[frag/segment-churn]"} {
		if !strings.Contains(strings.Join(strings.Fields(got), " "), want) {
			t.Errorf("the output lacks %q:\n%s", want, got)
		}
	}
	o = outside{}
	o.run(t, "triage", "--python", "none", "--socket", socket)
	if !strings.Contains(o.stdout.String(), "Next question: What happens?") {
		t.Errorf("another job's growth was taken for an answer:\n%s", o.stdout.String())
	}
}

// TestChecksRun: the commands of this program that a check shows are commands, with flags
// that they have.
func TestChecksRun(t *testing.T) {
	var o outside
	for _, r := range rules.All() {
		check := triage.CheckOf(r.ID)
		words := strings.Fields(strings.Split(check.Run, "#")[0])
		if len(words) == 0 || words[0] != "ullage" {
			continue
		}
		cmd, rest, err := New(o.app()).Find(words[1:])
		if err != nil || !cmd.HasParent() {
			t.Errorf("%s: %q is no command: %v", r.ID, check.Run, err)
			continue
		}
		if err := cmd.ParseFlags(rest); err != nil {
			t.Errorf("%s: %q: %v", r.ID, check.Run, err)
		}
	}
}

// TestRulesOfChecks: what doctor's checks stand for is in the catalogue.
func TestRulesOfChecks(t *testing.T) {
	for id, rule := range ofCheck {
		if _, err := rules.Get(rule); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
}
