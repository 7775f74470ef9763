package lint

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ullage-dev/ullage/internal/rules"
)

// Cache keeps what checkers said of files, by what is in them: a second run looks only at
// what changed. It is one file a project, of some dozen bytes for a file without mistakes, in
// the user's folder for caches; whatever is wrong with it makes it empty. Methods may be called
// on nil, which keeps nothing, and from several goroutines.
type Cache struct {
	name    string // of the file
	version string // of the program: another one may find something else

	mu      sync.Mutex
	old     map[string]json.RawMessage
	used    map[string]json.RawMessage
	changed bool
}

// Bounds of a cache.
const (
	maxCacheBytes   = 128 << 20
	maxCacheEntries = 200_000
	cacheAge        = 90 * 24 * time.Hour // after which a project's file is removed
	cacheHead       = "ullage lint cache 2 "
	keyBytes        = 16
)

// OpenCache reads the cache of a project from a folder for all of them.
func OpenCache(folder, project, version string) *Cache {
	sum := sha256.Sum256([]byte(project))
	c := &Cache{
		name: filepath.Join(folder, hex.EncodeToString(sum[:keyBytes])), version: version,
		old: map[string]json.RawMessage{}, used: map[string]json.RawMessage{},
	}
	text, err := os.ReadFile(c.name)
	if err != nil || len(text) > maxCacheBytes {
		return c
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, maxCacheBytes)
	if !lines.Scan() || lines.Text() != cacheHead+version {
		return c
	}
	if _, entries, _ := bytes.Cut(text, []byte("\n")); !lines.Scan() || !whole(lines.Text(), entries) {
		return c
	}
	for lines.Scan() {
		key, value, _ := bytes.Cut(lines.Bytes(), []byte("\t"))
		c.old[string(key)] = slices.Clone(value)
	}
	return c
}

// whole tells whether a line is the sum of all that follows it: a cache of which a disk or a person
// changed something would show findings that no file has.
func whole(sum string, entries []byte) bool {
	_, entries, _ = bytes.Cut(entries, []byte("\n"))
	return sum == sumOf(entries)
}

func sumOf(entries []byte) string {
	sum := sha256.Sum256(entries)
	return hex.EncodeToString(sum[:])
}

// key names a file by all that what is said of it depends on.
func (c *Cache) key(f *file, data []byte) string {
	if c == nil {
		return ""
	}
	h := sha256.New()
	test := "code"
	if f.test {
		test = "test"
	}
	h.Write([]byte(strings.Join([]string{f.checker.Name(), test, path.Base(f.path), ""}, "\x00")))
	h.Write(data)
	return hex.EncodeToString(h.Sum(nil)[:keyBytes])
}

func (c *Cache) get(key string) (checked Checked, ok bool) {
	if c == nil {
		return checked, false
	}
	c.mu.Lock()
	value, ok := c.old[key]
	if ok {
		c.used[key] = value
	}
	c.mu.Unlock()
	if !ok || len(value) == 0 {
		return checked, ok
	}
	var stored storedChecked
	if json.Unmarshal(value, &stored) != nil {
		return checked, false
	}
	return stored.checked()
}

func (c *Cache) put(key string, checked Checked) {
	if c == nil {
		return
	}
	var value json.RawMessage
	if len(checked.Mistakes) > 0 || len(checked.Comments) > 0 || checked.Broken != nil {
		value = compactJSON(newStored(checked))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.used[key], c.changed = value, true
}

// storedChecked is Checked with a number for how sure a mistake is: the type's own form, a
// word, is for people and is not read back.
type storedChecked struct {
	Mistakes []storedMistake
	Comments []Comment
	Broken   *int
}

type storedMistake struct {
	rules.Mistake
	Confidence uint8
}

func newStored(c Checked) storedChecked {
	s := storedChecked{Comments: c.Comments, Broken: c.Broken}
	for _, m := range c.Mistakes {
		s.Mistakes = append(s.Mistakes, storedMistake{m, uint8(m.Confidence)})
	}
	return s
}

// checked returns what was stored; false where it is not such as a checker returns.
func (s storedChecked) checked() (Checked, bool) {
	c := Checked{Comments: s.Comments, Broken: s.Broken}
	for _, m := range s.Mistakes {
		if m.Severity > rules.Error || m.Confidence > uint8(rules.High) || m.Start < 0 || m.End < m.Start {
			return Checked{}, false
		}
		m.Mistake.Confidence = rules.Confidence(m.Confidence)
		c.Mistakes = append(c.Mistakes, m.Mistake)
	}
	return c, true
}

// Save writes the cache, if anything in it is new, and removes those of projects that nobody
// has checked for long. Two runs at a time keep what the later one knows.
func (c *Cache) Save(now time.Time) error {
	if c == nil || !c.changed {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, value := range c.old {
		if _, ok := c.used[key]; !ok && len(c.used) < maxCacheEntries {
			c.used[key] = value
		}
	}
	var b bytes.Buffer
	for key, value := range c.used {
		b.WriteString(key)
		b.WriteByte('\t')
		b.Write(value)
		b.WriteByte('\n')
	}
	folder := filepath.Dir(c.name)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	sweepCaches(folder, now)
	head := cacheHead + c.version + "\n" + sumOf(b.Bytes()) + "\n"
	return writeCache(c.name, append([]byte(head), b.Bytes()...))
}

// writeCache writes a file whole or not at all.
func writeCache(name string, text []byte) error {
	part, err := os.CreateTemp(filepath.Dir(name), ".part-*")
	if err != nil {
		return err
	}
	_, err = part.Write(text)
	if closeErr := part.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(part.Name(), name)
	}
	if err != nil {
		os.Remove(part.Name())
	}
	return err
}

// sweepCaches removes what nobody has used for long. What cannot be removed stays.
func sweepCaches(folder string, now time.Time) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && e.Type().IsRegular() && now.Sub(info.ModTime()) > cacheAge {
			os.Remove(filepath.Join(folder, e.Name()))
		}
	}
}
