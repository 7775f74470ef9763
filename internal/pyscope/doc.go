// Package pyscope knows what the names, loops and regions of a Python module mean: what a
// linter has to know before it may say that a line is a mistake.
//
// [New] goes over a tree once. The [Module] then answers:
//
//   - where names live, and all that happens to them in order: [Module.Place], [Place.Refs]
//   - what a name means beyond its imports and aliases: [Module.Qualified]
//   - functions, classes and calls, who calls whom: [Function], [Class], [Call]
//   - loops, and whether a place starts anew in them: [Module.Loops], [Module.Reset]
//   - whether autograd records here: [Module.Grad]
//   - whether a value carries autograd's graph: [Module.Value]
//
// Answers are found when asked for, and kept, so that a Module is for one goroutine at a
// time. Everything that is not certain says so: a reader of this package must be able to tell
// "no" from "not known". It does not run anything, and knows of other modules only what their
// names promise.
package pyscope
