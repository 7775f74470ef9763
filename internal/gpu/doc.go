// Package gpu asks a machine for its GPUs: which there are, what their memory holds, and
// which processes hold it. Nothing above this package knows where the answer came from.
//
// A Probe answers with a Reading. Open finds the one that fits the machine:
//
//   - nvml: NVIDIA's library, loaded when the probe is opened, in programs that were built
//     with cgo on Linux;
//   - nvidia-smi: the driver's own program, where the first is missing;
//   - meminfo: /proc/meminfo, on boards whose GPU shares the processor's memory;
//   - file:PATH: readings that were recorded, see docs/formats/gpus.md;
//   - fake:NAME: machines that do not exist, with a load that follows a script;
//   - fake:NAME@PATH: likewise, with what a file says besides, read anew each time.
//
// A driver can hang, and a call into one that does never comes back. So every probe of a
// driver answers by a deadline: the call that is stuck is left behind, and no second
// one is started beside it. With NVML each device has a deadline of its own, so that one
// device that hangs leaves the others readable.
//
// What cannot be known is a nil pointer or an empty text, and never a zero: the driver does
// not always tell what a process uses, nor whose it is.
package gpu
