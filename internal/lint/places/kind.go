package places

import (
	"bytes"
	"path"
	"strings"
)

// Kind is a form of file that settings live in.
type Kind uint8

// The kinds of files.
const (
	Shell Kind = iota + 1 // scripts of sh, bash and the like, and the job scripts of Slurm
	Batch                 // .bat and .cmd of Windows
	PowerShell
	Dockerfile // and Containerfile
	Dotenv     // NAME=value lines, as .env
	YAML       // compose files, Kubernetes, configurations
	TOML
	JSON
)

// String names the kind.
func (k Kind) String() string {
	return [...]string{"", "shell script", "batch file", "PowerShell script", "Dockerfile", "file of variables", "YAML", "TOML", "JSON"}[k]
}

// MaxBytes is the longest file that is read: settings are written by hand.
const MaxBytes = 1 << 20

// byExtension are the kinds that a name's ending tells.
var byExtension = map[string]Kind{
	".sh": Shell, ".bash": Shell, ".zsh": Shell, ".ksh": Shell, ".slurm": Shell, ".sbatch": Shell, ".sub": Shell, ".pbs": Shell, ".lsf": Shell,
	".bat": Batch, ".cmd": Batch, ".ps1": PowerShell,
	".dockerfile": Dockerfile, ".containerfile": Dockerfile,
	".env":  Dotenv,
	".yaml": YAML, ".yml": YAML,
	".toml": TOML,
	".json": JSON,
}

// KindOf tells the kind of a file by its name, or where that says nothing by its first
// bytes. ok is false where it is none that is read here.
func KindOf(name string, head []byte) (kind Kind, ok bool) {
	base := strings.ToLower(path.Base(strings.ReplaceAll(name, `\`, "/")))
	first, _, _ := strings.Cut(base, ".")
	switch {
	case first == "dockerfile" || first == "containerfile":
		return Dockerfile, true
	case base == ".env" || strings.HasPrefix(base, ".env.") || base == ".deepspeed_env":
		return Dotenv, true
	}
	if kind, ok = byExtension[path.Ext(base)]; ok {
		return kind, true
	}
	if isShell(head) {
		return Shell, true
	}
	return 0, false
}

// isShell tells whether a file begins as a script of a shell.
func isShell(head []byte) bool {
	line, isScript := bytes.CutPrefix(head, []byte("#!"))
	if !isScript {
		return false
	}
	line, _, _ = bytes.Cut(line, []byte("\n"))
	words := strings.Fields(string(line))
	if len(words) == 0 {
		return false
	}
	interpreter := path.Base(words[0])
	if interpreter == "env" && len(words) > 1 {
		interpreter = words[len(words)-1]
	}
	switch interpreter {
	case "sh", "bash", "dash", "zsh", "ksh":
		return true
	}
	return false
}
