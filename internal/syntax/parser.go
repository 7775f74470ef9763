package syntax

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

//go:embed wasm/python.wasm
var module []byte

const (
	// MaxSourceBytes is the longest source that is parsed, after decoding. The longest file
	// of torch, transformers and the standard library together has 1.5 MB.
	MaxSourceBytes = 16 << 20
	// MaxDepth is how deep nodes may be nested, so that a walk may recurse. A chain of
	// a + b + c … is one deeper with each term.
	MaxDepth = 10_000

	maxMemoryPages = 1 << 30 / pageBytes // of one instance
	keepBytes      = 64 << 20            // an instance that has grown beyond is not kept: WebAssembly's memory never shrinks
	pageBytes      = 1 << 16
	recordBytes    = 16
)

// What the module's parse returns in place of a number of nodes; wasm/shim.c has the same.
const (
	tooDeep     = 0xffffffff
	tooMuchWork = 0xfffffffe
)

// Parser makes trees of sources. It may be used by several goroutines at once: each parse
// has an instance of the module to itself.
type Parser struct {
	runtime  wazero.Runtime
	compiled wazero.CompiledModule
	cache    wazero.CompilationCache // nil without a folder
	grammar  *grammar

	mu   sync.Mutex
	idle []*instance
}

// grammar is what numbers in a tree mean.
type grammar struct {
	kinds  []string
	fields []string
	field  map[string]uint8
}

// instance is the module with a memory of its own.
type instance struct {
	mod api.Module
}

// New makes a parser. Machine code made from the module is kept in cacheDir, which is made
// if it is not there; with an empty cacheDir it is made anew, in some 50 ms.
func New(ctx context.Context, cacheDir string) (*Parser, error) {
	config := wazero.NewRuntimeConfig().WithMemoryLimitPages(maxMemoryPages)
	p := &Parser{}
	if cacheDir != "" {
		cache, err := wazero.NewCompilationCacheWithDir(cacheDir)
		if err != nil {
			return nil, fmt.Errorf("cache of the Python parser: %w", err)
		}
		p.cache = cache
		config = config.WithCompilationCache(cache)
	}
	p.runtime = wazero.NewRuntimeWithConfig(ctx, config)
	if err := p.load(ctx); err != nil {
		return nil, fmt.Errorf("loading the Python parser: %w", err)
	}
	return p, nil
}

func (p *Parser) load(ctx context.Context) (err error) {
	if p.compiled, err = p.runtime.CompileModule(ctx, module); err != nil {
		return err
	}
	i, err := p.instantiate(ctx)
	if err != nil {
		return err
	}
	if p.grammar, err = i.readGrammar(ctx); err != nil {
		return err
	}
	p.put(ctx, i)
	return nil
}

// Close frees what the parser holds. Trees stay usable.
func (p *Parser) Close(ctx context.Context) error {
	err := p.runtime.Close(ctx)
	if p.cache != nil {
		if cerr := p.cache.Close(ctx); err == nil {
			err = cerr
		}
	}
	return err
}

// LimitError is a source that takes more than a parse may.
type LimitError struct {
	Name string // of the source
	What string
}

func (e *LimitError) Error() string { return e.Name + ": " + e.What }

// Parse makes the tree of a source. What is not Python is in the tree as errors; the error
// that it returns is a *LimitError, or one of the context. A parse under way goes on when the
// context ends: having the runtime look for that makes every parse 2.5 times slower. Text that
// is made to be slow takes a tenth of a second for each kilobyte, Python half a millisecond.
func (p *Parser) Parse(ctx context.Context, src *Source) (*Tree, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(src.Text) > MaxSourceBytes {
		return nil, &LimitError{src.Name, fmt.Sprintf("has %d bytes of code; at most %d are read", len(src.Text), MaxSourceBytes)}
	}
	i, err := p.get(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", src.Name, err)
	}
	nodes, what := i.parse(ctx, src.Text)
	if what != "" {
		i.close(ctx)
		return nil, &LimitError{src.Name, what}
	}
	p.put(ctx, i)
	return &Tree{Source: src, grammar: p.grammar, nodes: nodes}, nil
}

func (p *Parser) get(ctx context.Context) (*instance, error) {
	p.mu.Lock()
	if n := len(p.idle); n > 0 {
		i := p.idle[n-1]
		p.idle = p.idle[:n-1]
		p.mu.Unlock()
		return i, nil
	}
	p.mu.Unlock()
	return p.instantiate(ctx)
}

func (p *Parser) put(ctx context.Context, i *instance) {
	if i.mod.Memory().Size() > keepBytes {
		i.close(ctx)
		return
	}
	p.mu.Lock()
	p.idle = append(p.idle, i)
	p.mu.Unlock()
}

func (p *Parser) instantiate(ctx context.Context) (*instance, error) {
	mod, err := p.runtime.InstantiateModule(ctx, p.compiled,
		wazero.NewModuleConfig().WithName("").WithStartFunctions("_initialize", "init"))
	if err != nil {
		return nil, err
	}
	return &instance{mod: mod}, nil
}

// close cannot fail in a way that matters: the module has nothing open.
func (i *instance) close(ctx context.Context) { _ = i.mod.Close(ctx) }

// call runs a function of the module. A trap leaves its memory in no certain state: the
// instance must not be used again.
func (i *instance) call(ctx context.Context, name string, args ...uint64) (uint32, error) {
	result, err := i.mod.ExportedFunction(name).Call(ctx, args...)
	if err != nil || len(result) == 0 {
		return 0, err
	}
	return uint32(result[0]), nil
}

// parse returns the nodes of a text, or what was too much.
func (i *instance) parse(ctx context.Context, text []byte) ([]node, string) {
	const outOfMemory = "takes more than 1 GiB to parse, or is nested too deeply"
	at, err := i.call(ctx, "alloc", uint64(len(text)+1))
	if err != nil || at == 0 || !i.mod.Memory().Write(at, text) {
		return nil, outOfMemory
	}
	count, err := i.call(ctx, "parse", uint64(at), uint64(len(text)), maxSteps(len(text)), MaxDepth)
	switch {
	case err != nil:
		return nil, outOfMemory
	case count == tooDeep:
		return nil, fmt.Sprintf("is nested deeper than %d", MaxDepth)
	case count == tooMuchWork:
		return nil, "takes too long to parse; is it Python?"
	}
	nodes, ok := i.readNodes(ctx, count)
	if _, err := i.call(ctx, "release", uint64(at)); err != nil || !ok {
		return nil, outOfMemory
	}
	return nodes, ""
}

// readGrammar asks for the names of kinds and fields.
func (i *instance) readGrammar(ctx context.Context) (*grammar, error) {
	kinds, err := i.names(ctx, "kind_count", "kind_name", 0)
	if err != nil {
		return nil, err
	}
	fields, err := i.names(ctx, "field_count", "field_name", 1) // field 0 is none
	if err != nil {
		return nil, err
	}
	g := &grammar{kinds: kinds, fields: append([]string{""}, fields...), field: map[string]uint8{}}
	for id, name := range g.fields[1:] {
		g.field[name] = uint8(id + 1)
	}
	return g, nil
}

func (i *instance) names(ctx context.Context, count, name string, first uint32) ([]string, error) {
	n, err := i.call(ctx, count)
	if err != nil {
		return nil, err
	}
	names := make([]string, n)
	for k := range names {
		at, err := i.call(ctx, name, uint64(first)+uint64(k))
		if err != nil {
			return nil, err
		}
		names[k] = i.cString(at)
	}
	return names, nil
}

// cString reads a string that ends with a zero byte.
func (i *instance) cString(at uint32) string {
	const longest = 256
	mem := i.mod.Memory()
	b, ok := mem.Read(at, min(longest, mem.Size()-min(at, mem.Size())))
	if !ok {
		return ""
	}
	s, _, _ := bytes.Cut(b, []byte{0})
	return string(s)
}
