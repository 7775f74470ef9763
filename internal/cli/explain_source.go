package cli

import (
	"context"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/ullage-dev/ullage/internal/analyze"
	"github.com/ullage-dev/ullage/internal/lint/code"
	"github.com/ullage-dev/ullage/internal/origin"
	"github.com/ullage-dev/ullage/internal/pyscope"
	"github.com/ullage-dev/ullage/internal/syntax"
)

// sources finds and checks the sources that a recording's frames name, each once. What
// cannot be read is passed over: an explanation is good without. Names of files come from a
// recording, and so from anyone: only regular files of Python are opened.
type sources struct {
	app    *App
	folder string // --source; empty: none

	mu     sync.Mutex
	parser *syntax.Parser
	files  map[string]*source // by the frames' name; nil where there is none
}

func newSources(app *App, folder string) *sources {
	return &sources{app: app, folder: folder, files: map[string]*source{}}
}

// source is a source that was found.
type source struct {
	*origin.File
	changed time.Time
}

// name names the mistakes that the growths of a device come from.
func (s *sources) name(x *analyze.Explanation) {
	growths := origin.GrowthsOf(x)
	for i := range growths {
		g := &growths[i]
		paths, doubts := map[string]*origin.File{}, map[string]string{}
		for _, frame := range g.Frames {
			if src := s.find(frame.Filename); src != nil {
				paths[frame.Filename] = src.File
				doubts[src.Path] = doubtOf(src.changed, lastEvent(x))
			}
		}
		g.Name(paths, doubts)
	}
}

// lastEvent is when the last event of a recording was; zero where it has no times.
func lastEvent(x *analyze.Explanation) time.Time {
	events := x.TL.Dev.Events
	if events.Len() == 0 || events.At(events.Len()-1).TimeUS == 0 {
		return time.Time{}
	}
	return time.UnixMicro(events.At(events.Len() - 1).TimeUS)
}

// doubtOf says what cannot be known of a source that was written at a time: whether it is
// the one that ran.
func doubtOf(written, end time.Time) string {
	switch {
	case end.IsZero():
		return "the recording has no times, so that it cannot be told whether the file has changed since; the functions around the lines are the same"
	case written.After(end):
		return "the file was written after the recording; the functions around the lines are the same, and whether the lines are cannot be told"
	}
	return ""
}

// find returns the source of a frame's file: by the name itself, or below --source.
func (s *sources) find(name string) *source {
	if !origin.IsSource(name) {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if src, known := s.files[name]; known {
		return src
	}
	var src *source
	for _, path := range s.candidates(name) {
		if src = s.read(path); src != nil {
			break
		}
	}
	s.files[name] = src
	return src
}

// candidates are the paths under which a frame's file may be here. A name of another
// machine's share is not asked for: that would tell it who asks.
func (s *sources) candidates(name string) []string {
	var all []string
	if s.folder != "" {
		for _, end := range origin.Suffixes(name) {
			if path := filepath.FromSlash(end); filepath.IsLocal(path) {
				all = append(all, filepath.Join(s.folder, path))
			}
		}
	}
	if !strings.HasPrefix(origin.Slashes(name), "//") {
		all = append(all, name)
	}
	return all
}

// read reads, parses and checks a source; nil where it cannot.
func (s *sources) read(path string) *source {
	info, err := s.app.Files.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > syntax.MaxSourceBytes {
		return nil
	}
	file, err := s.app.Files.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, syntax.MaxSourceBytes))
	if err != nil {
		return nil
	}
	tree := s.parse(path, data)
	if tree == nil {
		return nil
	}
	mistakes := code.Check(pyscope.New(tree), code.Options{})
	return &source{origin.NewFile(path, tree, mistakes), info.ModTime()}
}

func (s *sources) parse(path string, data []byte) *syntax.Tree {
	src, err := syntax.Read(path, data)
	if err != nil {
		return nil
	}
	ctx := context.Background() // one file, bounded; the command's own context ends what takes long
	if s.parser == nil {
		if s.parser, err = syntax.New(ctx, s.app.cacheFolder("syntax")); err != nil {
			return nil
		}
	}
	tree, err := s.parser.Parse(ctx, src)
	if err != nil {
		return nil
	}
	return tree
}

// close frees the parser.
func (s *sources) close() {
	if s.parser != nil {
		_ = s.parser.Close(context.Background()) // it has nothing open
	}
}
