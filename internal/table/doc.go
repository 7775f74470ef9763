// Package table answers questions about the rows that a recording is made of: its blocks,
// the places in the code that allocated them, its segments and its events. A request
// names one of the four tables, a query, a column to sort by and which rows it wants.
//
//	t := table.New(table.Input{TL: tl, Sites: sites, …})
//	a, err := t.Ask(table.Request{What: table.Blocks, Query: "size>64MiB file:train.py", Sort: "-size_bytes", Count: 100})
//
// Rows are made when they are asked for: nothing is kept of the millions that a table can
// have but the order of those that matched lately, four bytes a row. A query passes over the
// packed columns of the recording once, and takes of them what it needs.
//
// The package does no I/O. Tables are safe for concurrent use.
package table
