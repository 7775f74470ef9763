// Package docs carries the pages of this folder that the program prints itself.
package docs

import "embed"

// Rules holds a page for every rule, at rules/FAMILY/NAME.md. docs/rules/README.md
// describes the form of a page.
//
//go:embed rules/*/*.md
var Rules embed.FS
