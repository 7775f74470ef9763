package gpu

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
)

// busyXML is what nvidia-smi prints of 8 devices with 25 processes each.
func busyXML(tb testing.TB) string {
	whole := smiH200(tb)
	head, rest, _ := strings.Cut(whole, "<gpu ")
	device, _, _ := strings.Cut(rest, "</gpu>")
	before, after, _ := strings.Cut(device, "<processes>")
	_, after, _ = strings.Cut(after, "</processes>")
	var b strings.Builder
	b.WriteString(head)
	for i := range 8 {
		b.WriteString("<gpu " + strings.Replace(before, "6666", fmt.Sprintf("%04d", i), 1) + "<processes>")
		for k := range 25 {
			fmt.Fprintf(&b, "<process_info><pid>%d</pid><type>C</type><process_name>/usr/bin/python3</process_name><used_memory>1024 MiB</used_memory></process_info>", 100*i+k+1)
		}
		b.WriteString("</processes>" + after + "</gpu>")
	}
	return b.String() + "</nvidia_smi_log>"
}

// BenchmarkSMI reads the output of nvidia-smi for 8 devices and 200 processes. Budget, on
// one core of an AMD EPYC at about 3 GHz:
//
//	10 ms
func BenchmarkSMI(b *testing.B) {
	raw := []byte(busyXML(b))
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		if r, err := parseSMI(raw); err != nil || len(r.Processes) != 200 {
			b.Fatal(len(r.Processes), err)
		}
	}
}

// BenchmarkDescribe looks 200 processes up again, from memory: what the kernel takes for
// /proc comes on top. Budget:
//
//	2 ms
func BenchmarkDescribe(b *testing.B) {
	root := fstest.MapFS{"proc/self/ns/pid": link(initialNamespace)}
	var r Reading
	for pid := 1; pid <= 200; pid++ {
		for _, name := range []string{"status", "cmdline", "cgroup", "stat"} {
			root[fmt.Sprintf("proc/%d/%s", pid, name)] = procRoot(initialNamespace)["proc/4711/"+name]
		}
		r.Processes = append(r.Processes, Process{PID: pid})
	}
	p := newProcs(Machine{Root: root, User: users})
	for b.Loop() {
		p.describe(&r)
	}
	if r.Processes[199].User != "alice" {
		b.Fatal(r.Processes[199])
	}
}
