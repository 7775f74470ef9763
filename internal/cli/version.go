package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// versionInfo says which program this is. It is also the output of version --json.
type versionInfo struct {
	Version    string `json:"version"`
	Commit     string `json:"commit"`      // empty where the build did not record it
	CommitTime string `json:"commit_time"` // RFC 3339; empty likewise
	Modified   bool   `json:"modified"`    // built from a tree with uncommitted changes
	Go         string `json:"go"`
	OS         string `json:"os"`
	Arch       string `json:"arch"`
}

func newVersion(app *App) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print which version this is",
		Long:    "Version prints the version of ullage, the commit it was built from, the Go\nrelease that built it, and the system it was built for.",
		GroupID: groupOther,
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			v := app.versionInfo()
			if asJSON {
				return printJSON(app.Stdout, v)
			}
			return printVersion(app.Stdout, v)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *App) versionInfo() versionInfo {
	build, _ := debug.ReadBuildInfo()
	return newVersionInfo(a.Version, build)
}

// newVersionInfo takes the version given to the linker, else the one that the go command
// recorded (go install module@version), else "devel". build may be nil.
func newVersionInfo(linked string, build *debug.BuildInfo) versionInfo {
	v := versionInfo{Version: linked, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	if build != nil {
		if v.Version == "" && build.Main.Version != "(devel)" {
			v.Version = build.Main.Version
		}
		for _, s := range build.Settings {
			switch s.Key {
			case "vcs.revision":
				v.Commit = s.Value
			case "vcs.time":
				v.CommitTime = s.Value
			case "vcs.modified":
				v.Modified = s.Value == "true"
			}
		}
	}
	if v.Version == "" {
		v.Version = "devel"
	}
	return v
}

func printVersion(w io.Writer, v versionInfo) error {
	commit := ""
	if v.Commit != "" {
		commit = fmt.Sprintf("commit %.12s", v.Commit)
		if v.Modified {
			commit += " with changes"
		}
		commit += ", "
	}
	_, err := fmt.Fprintf(w, "ullage %s (%s%s, %s/%s)\n", v.Version, commit, v.Go, v.OS, v.Arch)
	return err
}

// printJSON prints a result under --json: indented, for people read it too, and with
// characters such as < and & as they are.
func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
