// Package analyze answers the questions that people ask of a recording, or of a text
// if they have no recording: one file a question, or one prefix where it takes
// several.
//
//	coverage       what does the file cover, and what is missing?
//	accounting     what is reserved made of, to the byte, at one event?
//	holders        who holds it: by category, module, line, stack, as a tree
//	category       what is a block for, and how sure is that?
//	sites, frames  whose code is a stack, and what is it in one line?
//	steps          which rounds does the program make?
//	leak           what grows from round to round?
//	oom            why did an allocation fail, and which limit did it meet?
//	fragmentation  what is free and cannot be used, and who keeps it so?
//	settings       which allocator settings do nothing, or harm?
//	ranks          which rank of a job is the odd one?
//	diff           what changed between two recordings, by site?
//	text           what does a log or an error message allow to say?
//
// Explain puts the answers about one device together: it returns an Explanation with
// the verdict and with findings, each of a rule of the catalogue. Everything is a
// pure function of a timeline.Timeline; nothing here does I/O, and no goroutine
// outlives a call.
package analyze
