// Package triage walks from what people see to what causes it, as a doctor would: a tree
// of questions, each of which is asked only where its answer changes what comes next, with
// causes of the catalogue at its leaves.
//
// The tree is data (tree_*.go). Walk follows it as far as the answers go; Conclude weighs
// the causes at its end against what was seen in recordings, sources and on the machine.
// Who asks, and who looks, is not this package's concern: answers and sights come in as
// values, and the same ones give the same result.
//
// Answers alone never make a cause certain: people answer what they believe. A cause that
// is only answered for has medium confidence at most; it is high where something was seen
// that says the same.
package triage
