// Command dashcheck reads dashboards as Grafana does, with the types that Grafana's authors
// generate from its schemas, and strictly: a field that is missing, unknown or of another
// type is a fault, in the options of each kind of panel too.
//
//	dashcheck FILE...
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: dashcheck FILE...")
		os.Exit(2)
	}
	plugins.RegisterDefaultPlugins()
	faults := false
	for _, path := range os.Args[1:] {
		if err := check(path); err != nil {
			fmt.Fprintf(os.Stderr, "dashcheck: %s:\n%v\n", path, err)
			faults = true
		}
	}
	if faults {
		os.Exit(1)
	}
}

func check(path string) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var d dashboard.Dashboard
	// Where nothing is wrong, the reader returns an empty list in an interface that is not nil.
	var faults cog.BuildErrors
	if err := d.UnmarshalJSONStrict(raw); err != nil && (!errors.As(err, &faults) || len(faults) > 0) {
		return err
	}
	return d.Validate()
}
