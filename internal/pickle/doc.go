// Package pickle reads Python pickles as data, in one pass and in little memory.
//
// It never runs anything: the opcodes with which a pickle makes Python import a
// module, call a function or build an object are refused by name and offset
// (RefusedError). What is left, in protocols 0 to 5, are dicts, lists, tuples, sets,
// strings, numbers, booleans and None.
//
// It never holds the data either. Values are the eight-byte handles of package
// value; a dict goes to a value.Builder when it is complete and a list as its
// batches come, so a list of millions of dicts is never in memory as such. What
// grows with the input is the memo, four bytes an entry.
//
// Speed comes from two facts about what CPython writes. Opcodes are mostly GETs of
// the memo, so the loop over them keeps its state in local variables. And a list that
// holds only GETs has the same value whenever the same bytes come again, because
// a memo slot is written once: such lists are recognised by comparing bytes.
//
// What Python allows and this package does not: adding to a container after it
// was put into another one, which is also the only way to make one that holds itself
// (CycleError). Nothing that writes plain data does that.
package pickle
