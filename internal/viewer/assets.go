package viewer

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzip"
)

// assets are the page's own files.
type assets struct {
	files map[string]asset // by name: "app.js"
	hash  string           // of all of them
	live  fs.FS            // read anew at every request, for work on the page; nil else
}

type asset struct {
	plain, packed []byte // packed is nil where it is not smaller
	kind          string // Content-Type
}

// kinds are the files that a page is made of. Others are not served.
var kinds = map[string]string{
	".html": "text/html; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".svg":  "image/svg+xml",
	".map":  "application/json",
}

// The page itself, and the one that holds its code and, once exported, its answers.
const (
	indexPage  = "index.html"
	exportPage = "standalone.html"
)

// newAssets reads and compresses the page's files once; live ones are read again and again.
func newAssets(dist fs.FS, live bool) (*assets, error) {
	a := &assets{files: make(map[string]asset)}
	entries, err := fs.ReadDir(dist, ".")
	if err != nil {
		return nil, err
	}
	sum := sha256.New()
	for _, e := range entries {
		if kinds[path.Ext(e.Name())] == "" || e.IsDir() {
			continue
		}
		f, err := readAsset(dist, e.Name())
		if err != nil {
			return nil, err
		}
		a.files[e.Name()] = f
		fmt.Fprintf(sum, "%s %d\n", e.Name(), len(f.plain))
		sum.Write(f.plain)
	}
	if _, ok := a.files[indexPage]; !ok {
		return nil, fmt.Errorf("the page has no %s among its files: %w", indexPage, fs.ErrNotExist)
	}
	a.hash = hex.EncodeToString(sum.Sum(nil)[:8])
	if live {
		a.live = dist
	}
	return a, nil
}

func readAsset(dist fs.FS, name string) (asset, error) {
	text, err := fs.ReadFile(dist, name)
	if err != nil {
		return asset{}, err
	}
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is one that there is
	z.Write(text)                                         // a Buffer never fails
	z.Close()
	f := asset{plain: text, kind: kinds[path.Ext(name)]}
	if b.Len() < len(text) {
		f.packed = b.Bytes()
	}
	return f, nil
}

// build tells the page's code from that of another build.
func (a *assets) build() string { return a.hash }

// dev tells whether the page is being worked on: then nothing is kept.
func (a *assets) dev() bool { return a.live != nil }

// find returns a file of the page.
func (a *assets) find(name string) (asset, bool) {
	if _, ok := kinds[path.Ext(name)]; ok && a.live != nil && fs.ValidPath(name) {
		f, err := readAsset(a.live, name)
		return f, err == nil
	}
	f, ok := a.files[name]
	return f, ok
}

// asset answers with a file of the page.
func (s *Server) asset(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/")
	if name == "" {
		name = indexPage
		s.readChanged()
	}
	f, ok := s.assets.find(name)
	if !ok {
		s.refuse(w, notFoundf("no file %.80q; the page is at /", name))
		return
	}
	h := w.Header()
	h.Set("Content-Type", f.kind)
	h.Set("Vary", "Accept-Encoding")
	h.Set("Cache-Control", never)
	if !s.assets.dev() {
		tag := strconv.Quote(s.assets.hash)
		h.Set("Cache-Control", private)
		h.Set("ETag", tag)
		if hasTag(r.Header.Get("If-None-Match"), tag) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	body := f.plain
	if f.packed != nil && takesGzip(r) {
		body = f.packed
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.Write(body)
}

// readChanged reads anew what has changed on disk: to reload the page is to ask for that.
func (s *Server) readChanged() {
	if life := s.life.Load(); life != nil {
		s.session.loadChanged(*life)
	}
}

// hasTag tells whether a list of tags has one, which may be marked as weak by what passed it
// on.
func hasTag(list, tag string) bool {
	for one := range strings.SplitSeq(list, ",") {
		if strings.TrimPrefix(strings.TrimSpace(one), "W/") == tag {
			return true
		}
	}
	return false
}
