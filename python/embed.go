// Package python carries the companion: the Python code that `ullage run` puts on the path
// of the programs that it starts.
package python

import "embed"

// Companion holds the package at src/ullage, and at inject what Python's start-up finds.
//
//go:embed src/ullage/*.py src/ullage/*/*.py src/ullage/py.typed inject/*.py
var Companion embed.FS
