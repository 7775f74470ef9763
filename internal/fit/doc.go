// Package fit predicts the GPU memory of a program from a trace of it that was taken
// without a GPU: docs/formats/trace.md.
//
//	trace, err := fit.Read(file, name)
//	profile, err := fit.FindProfile("h200")
//	job, err := fit.Compile(trace, profile)            // what the program asks of the allocator
//	run, err := job.Run(fit.Room{})                    // what the allocator makes of it
//	rec := job.Record(run)                             // the same as a recording, for explain, tune and view
//	p, err := fit.Predict(job, fit.Options{})          // peaks, the safe bound, cards
//
// A trace has what the program itself asks for: the results of its operators, in order.
// What operators take besides, workspaces and temporaries, is added here, one file a
// kind of operator: conv.go, reduce.go, attention.go, embedding.go, blas.go, norm.go.
// Where the code of PyTorch determines a size it is computed as that code does; where a
// library decides, as cuDNN does, from what was measured on a card, with the
// uncertainty that the measurement shows.
//
// Then the stream of requests and frees goes through package allocator, which is exact.
// The package does no I/O beyond the reader that it is given, and reads no clock.
package fit
