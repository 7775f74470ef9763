package docs

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// ofPage is the first line of a translation: the page that it is of, and what its prose was.
var ofPage = regexp.MustCompile(`^<!-- translation of (\S+) as of: (\S+) -->\n`)

// TestTranslations keeps translations in step with the pages that they are of: the same
// headings, blocks and links in the same order, and the prose as it was when the translation
// was last looked at. After a change of a page: change the translation, then run with -update.
func TestTranslations(t *testing.T) {
	names := translations(t)
	if len(names) < 3 {
		t.Fatalf("only %q are translated", names)
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			text := readPage(t, name)
			head := ofPage.FindStringSubmatch(text)
			if head == nil {
				t.Fatal("its first line does not say of what page it is a translation")
			}
			page := readPage(t, filepath.Join(filepath.Dir(name), head[1]))
			if diff := cmp.Diff(outline(page), outline(text)); diff != "" {
				t.Errorf("its headings, blocks and links are not those of the page (-page +translation):\n%s", diff)
			}
			if now := proseSum(page); head[2] != now {
				settle(t, name, text, head[1], now)
			}
		})
	}
}

func settle(t *testing.T, name, text, of, now string) {
	t.Helper()
	if !*update {
		t.Errorf("%s has changed since it was translated: look at the change, mend the translation, and run go test ./docs -update", of)
		return
	}
	line := fmt.Sprintf("<!-- translation of %s as of: %s -->\n", of, now)
	if err := os.WriteFile(name, []byte(ofPage.ReplaceAllString(text, line)), 0o644); err != nil {
		t.Fatal(err)
	}
}

func translations(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, pattern := range []string{"*.zh-CN.md", "../*.zh-CN.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, found...)
	}
	return names
}

func readPage(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(data), "\r\n", "\n")
}

var (
	fenced  = regexp.MustCompile("(?ms)^```.*?^```$")
	heading = regexp.MustCompile(`(?m)^#+ `)
	link    = regexp.MustCompile(`\]\([^)]*\)`)
)

// outline returns what a page and its translation have alike, in the order of the page: the
// levels of headings, blocks as they are, and where links go. A link to another page may go to
// its translation.
func outline(page string) []string {
	type piece struct {
		at   int
		text string
	}
	var pieces []piece
	prose := fenced.ReplaceAllStringFunc(page, func(s string) string { return strings.Repeat("\x00", len(s)) })
	for _, m := range fenced.FindAllStringIndex(page, -1) {
		pieces = append(pieces, piece{m[0], page[m[0]:m[1]]})
	}
	for _, m := range heading.FindAllStringIndex(prose, -1) {
		pieces = append(pieces, piece{m[0], prose[m[0]:m[1]]})
	}
	var links []string
	for _, m := range link.FindAllString(prose, -1) {
		links = append(links, strings.ReplaceAll(m, ".zh-CN.md", ".md"))
	}
	slices.SortFunc(pieces, func(a, b piece) int { return a.at - b.at })
	slices.Sort(links) // the order of words is another one
	var rows []string
	for _, p := range pieces {
		rows = append(rows, p.text)
	}
	return append(rows, links...)
}

// proseSum tells one prose from another. Blocks are compared whole and do not count: what
// commands print in them changes with the program.
func proseSum(page string) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(fenced.ReplaceAllString(page, ""))))[:16]
}
