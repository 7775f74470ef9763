// Package tui is the monitor of `ullage top`: GPUs, what fills them, and the processes that
// do, redrawn at every reading.
//
// The model is a value that messages change: readings, keys, the size of the window. It asks
// for work (a reading, a wait, the end of a process) by returning commands, and does none
// itself. A frame is a function of the model alone. So tests drive it by messages, without a
// terminal, a clock or a GPU.
//
// Print writes one reading as plain tables, for pipes.
package tui
