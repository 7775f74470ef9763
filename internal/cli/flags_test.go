package cli

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestWrongFlags: what is wrong with a command line is said in the program's own words, with
// the flag, what was given and what is expected.
func TestWrongFlags(t *testing.T) {
	const history = "hint: --history EVENTS: events of the allocator to keep for each device; 0 keeps none\n"
	const limit = "hint: --limit SIZE: the size that PyTorch may reserve on a GPU, for each process\n"
	const snapHelp = "hint: run 'ullage snap --help' for usage\n"
	tests := []struct {
		args string // words by spaces; '' is an empty one
		want string // after "ullage: error: "
	}{
		{"run --history abc -- true", "--history: \"abc\" is not a whole number\n" + history},
		{"run --history= -- true", "--history: \"\" is not a whole number\n" + history},
		{"run --history 1e3 -- true", "--history: \"1e3\" is not a whole number\n" + history},
		{"run --history 99999999999999999999 -- true", "--history: \"99999999999999999999\" is out of range\n" + history},
		{"run --history -- true", "--history needs a value\n" + history},
		{"run --history -1 -- true", "--history: -1 is not a number of events from 0 to 50000000\n"},
		{"run --limit", "--limit needs a value\n" + limit},
		{"run --limit -- true", "--limit needs a value, but -- follows\n" + limit},
		{"run --limit --out x true", "--limit needs a value, but --out follows\n" + limit},
		{"run --limit= -- true", "--limit: the value is empty\n" + limit},
		{"lint --select= .", "--select: the value is empty\nhint: --select RULES: look only for these rules (beginnings of ids, by commas)\n"},
		{"lint ''", "a path is empty\nhint: name a file or a folder; . is this one\n"},
		{"run --limit 1e99GiB -- true", "--limit: \"1e99GiB\" is not an amount of memory: want one number, without an exponent or commas, and a unit, as in 80GiB or 512MB\n"},
		{"run --out '' -- true", "--out: the value is empty\nhint: --out FOLDER: folder for what is written (default: ullage-DATE-TIME, made when there is something)\n"},
		{"run --", "ullage run needs a command to run, as in: ullage run -- python train.py\nhint: run 'ullage run --help' for usage\n"},
		{"run -- ''", "the command to run is empty: \"\"\n"},
		{"run -x -- true", "unknown flag: -x\nhint: run 'ullage run --help' for usage\n"},
		{"fit", "a command to run is missing\nhint: as in: ullage fit -- python train.py\n"},
		{"fit -- ''", "the command to run is empty: \"\"\n"},
		{"fit --top -2 -- true", "--top: -2 is no number of rows; -1 is all\n"},
		{"fit --json=maybe -- true", "--json: \"maybe\" is not true or false\nhint: --json: print JSON\n"},
		{"fit --ranks 0 -- true", "--ranks: 0 is not a number from 1 to 65536\n"},
		{"fit --out none/x -- true", "--out: there is no folder none for x\n"},
		{"fit --recording testdata -- true", "--recording: testdata is a folder: expected a file\n"},
		{"fit --recording flags_test.go -- true flags_test.go", "--recording: flags_test.go is what is read, and would be lost\n"},
		{"fit --recording ./flags_test.go --trace flags_test.go", "--recording: ./flags_test.go is what is read, and would be lost\n"},
		{"fit --trace x --out y", "--out and --trace cannot be together\nhint: run 'ullage fit --help' for usage\n"},
		{"fit --sweep batch=9..2 -- true", "--sweep: \"batch=9..2\" is not NAME=LOW..HIGH with whole numbers from 1, the lower first, as in batch=8..512\n"},
		{"fit --sweep batch=1..2 --remedies all -- true", "--remedies and --sweep cannot be together\nhint: run 'ullage fit --help' for usage\n"},
		{"snap", "ullage snap takes the PID of one process, but was given 0\n" + snapHelp},
		{"snap -1", "ullage snap: \"-1\" is not a PID, the number of a process\n" + snapHelp},
		{"snap -- -1", "ullage snap: \"-1\" is not a PID, the number of a process\n" + snapHelp},
		{"snap 0", "ullage snap: \"0\" is not a PID, the number of a process\n" + snapHelp},
		{"snap -x", "unknown flag: -x\n" + snapHelp},
		{"snap --timeout 5 1", "--timeout: \"5\" is not a time with its unit, as in 30s or 2m\nhint: --timeout DURATION: how long to wait for the recording\n"},
		{"snap --timeout 0s 1", "--timeout: 0s is no time to wait\n"},
		{"--color blue version", "--color: \"blue\" is not one of auto, always, never\nhint: run 'ullage version --help' for usage\n"},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			var o outside
			args := strings.Fields(tt.args)
			for i := range args {
				args[i] = strings.Trim(args[i], "'")
			}
			if code := o.run(t, args...); code != exitUsage {
				t.Errorf("exit code %d, want %d", code, exitUsage)
			}
			if got := o.stderr.String(); got != "ullage: error: "+tt.want {
				t.Errorf("got  %q\nwant %q", got, "ullage: error: "+tt.want)
			}
		})
	}
}

// TestEveryFlagRefuses holds every flag of every command to it: an empty value is refused
// unless it means something, and no error speaks of the code that parses.
func TestEveryFlagRefuses(t *testing.T) {
	var o outside
	for cmd := range commands(New(o.app())) {
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			if flag.Annotations[mayBeEmpty] != nil {
				return
			}
			var o outside
			path := strings.Fields(cmd.CommandPath())[1:]
			code := o.run(t, append(path, "--"+flag.Name+"=", "1")...)
			got := o.stderr.String()
			if code != exitUsage || !strings.HasPrefix(got, "ullage: error: --"+flag.Name+": ") || strings.Contains(got, "pars") {
				t.Errorf("%s --%s=: exit code %d: %s", cmd.CommandPath(), flag.Name, code, got)
			}
		})
	}
}
