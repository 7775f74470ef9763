package node

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ullage-dev/ullage/internal/lease"
	"github.com/ullage-dev/ullage/internal/ledger"
)

// TestAPIPage: the tables of docs/api.md have the questions of the server, each with what
// answers it, and all codes of errors, each with its status.
func TestAPIPage(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "api.md"))
	if err != nil {
		t.Fatal(err)
	}
	questions := []string{"GET /healthz text", "GET /readyz text"}
	for _, r := range routes() {
		answer := reflect.TypeOf(spokenTypes[strings.ToLower(r.method)+" "+r.path][0]).Name()
		questions = append(questions, r.method+" "+r.path+" "+answer)
	}
	var shown []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([A-Z]+ /\\S+)` \\| `?(\\w+)`? \\|").FindAllStringSubmatch(string(text), -1) {
		shown = append(shown, m[1]+" "+m[2])
	}
	compareLists(t, "questions", questions, shown)

	codes := []string{
		"400 " + codeInvalid, "403 " + codeForbidden, "404 " + codeUnknown, "405 " + codeMethod, "413 " + codeTooLarge,
		"414 " + codeTooLarge, "429 " + codeBusy, "500 " + codeInternal, "503 " + codeUnready,
	}
	for _, c := range leaseCodes(t) {
		if one := fmt.Sprintf("%d %s", statusOf(c), c); !slices.Contains(codes, one) {
			codes = append(codes, one)
		}
	}
	shown = nil
	for _, m := range regexp.MustCompile("(?m)^\\| (\\d{3}(?:, \\d{3})*) \\| (`.*?`) \\|").FindAllStringSubmatch(string(text), -1) {
		for _, status := range strings.Split(m[1], ", ") {
			for _, code := range strings.Split(m[2], ", ") {
				shown = append(shown, status+" "+strings.Trim(code, "`"))
			}
		}
	}
	compareLists(t, "codes", codes, shown)
}

func compareLists(t *testing.T, what string, want, got []string) {
	t.Helper()
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-server +page):\n%s", what, diff)
	}
}

// leaseCodes are the codes that package lease has.
func leaseCodes(t *testing.T) (codes []lease.Code) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "lease", "request.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok {
			if kind, ok := v.Type.(*ast.Ident); ok && kind.Name == "Code" {
				code, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				codes = append(codes, lease.Code(code))
			}
		}
		return true
	})
	return codes
}

// TestAnswerOf: what goes wrong inside is not told to clients, but that they may try again is.
func TestAnswerOf(t *testing.T) {
	secret := errors.New("/var/lib/secret: disk full")
	for _, tt := range []struct {
		err    error
		status int
		retry  bool
	}{
		{fmt.Errorf("/var: %w: %w", ledger.ErrNotStored, secret), 503, true},
		{ledger.ErrClosed, 503, true},
		{context.DeadlineExceeded, 503, true},
		{secret, 500, false},
		{fmt.Errorf("while: %w", invalidf("no")), 400, false},
		{&lease.RefusedError{Code: lease.CodeQuotaPeak, Why: "too much"}, 409, false},
	} {
		e := answerOf(tt.err)
		if e.status != tt.status || e.after > 0 != tt.retry || strings.Contains(e.body.Message, "secret") || e.body.Message == "" {
			t.Errorf("%v: %+v, want %d", tt.err, e, tt.status)
		}
	}
}
