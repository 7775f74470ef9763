package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestUnit holds the systemd unit against the program: the commands in it are ones that it has.
func TestUnit(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "deploy", "ullage-agent.service"))
	if err != nil {
		t.Fatal(err)
	}
	lines := regexp.MustCompile(`(?m)^Exec\w+=/usr/bin/ullage (.*)$`).FindAllStringSubmatch(string(text), -1)
	if len(lines) != 2 {
		t.Fatalf("%d commands of ullage in the unit", len(lines))
	}
	for _, line := range lines {
		var o outside
		cmd, args, err := New(o.app()).Find(strings.Fields(line[1]))
		if err == nil {
			err = cmd.ParseFlags(args)
		}
		if err != nil || cmd.Name() != "agent" || len(cmd.Flags().Args()) > 0 {
			t.Errorf("%s: %v", line[0], err)
		}
	}
	for _, want := range []string{"\nType=notify\n", "\nExecReload=/bin/kill -HUP $MAINPID\n", "\nRestart=always\n", "\nStateDirectory=ullage\n", "\nRuntimeDirectory=ullage\n"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the unit lacks %q", strings.TrimSpace(want))
		}
	}
}

// TestAgentSettings: flags come before variables, and variables before the file.
func TestAgentSettings(t *testing.T) {
	file := filepath.Join(t.TempDir(), "agent.toml")
	if err := os.WriteFile(file, []byte("probe = \"nvml\"\ninterval = \"5s\"\nmetrics = \":1\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := outside{env: map[string]string{"ULLAGE_AGENT_CONFIG": file, "XDG_STATE_HOME": filepath.Dir(file)}}
	app := o.app()
	app.Environ = func() []string {
		return []string{"ULLAGE_AGENT_INTERVAL=2s", "ULLAGE_AGENT_METRICS=:2", "ULLAGE_AGENT_CONFIG=" + file}
	}
	app.GPUs.UID = 7
	if code := Run(t.Context(), app, []string{"agent", "--check", "--metrics", ""}); code != 0 {
		t.Fatalf("exit code %d: %s", code, o.stderr.String())
	}
	for _, want := range []string{`probe = "nvml"`, `interval = "2s"`, `metrics = ""`, `admin_group = ""`} {
		if !strings.Contains(o.stdout.String(), want+"\n") {
			t.Errorf("%s is missing:\n%s", want, o.stdout.String())
		}
	}
}
