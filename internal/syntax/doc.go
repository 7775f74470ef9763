// Package syntax reads Python sources and notebooks into trees that a linter can walk.
//
// [Read] turns the bytes of a file into a [Source]: text in UTF-8, whatever the file was
// written in, and for a notebook the code of its cells, one after the other, with what is
// not Python blanked. [Parser.Parse] turns a Source into a [Tree]. Errors in a source do not
// stop it: the tree has what could be read, and [Tree.Errors] says where it could not.
//
//	parser, err := syntax.New(ctx, cacheDir)
//	src, err := syntax.Read("train.py", data)
//	tree, err := parser.Parse(ctx, src)
//	for n := range tree.Root().Descendants() {
//		if n.Is("call") && n.Field("function").Text() == "torch.load" {
//			fmt.Println(src.Position(n.Start()))
//		}
//	}
//
// Kinds of nodes and names of fields are those of tree-sitter's grammar of Python, which its
// file node-types.json lists. The grammar and tree-sitter's core are C, compiled to a
// WebAssembly module that scripts/syntax-wasm builds from pinned sources, and that imports
// nothing: wazero runs it in a memory of its own, on every system and without cgo.
// docs/decisions/syntax.md says why, and what it weighs.
package syntax
