package gpu

import (
	"bufio"
	"bytes"
	"io/fs"
	"strconv"
	"strings"
)

// nvmapClients is where the memory manager of Tegra boards tells root what each process holds of
// the GPU's memory, which counts in no process's resident memory.
const nvmapClients = "sys/kernel/debug/nvmap/iovmm/clients"

// nvmapProcesses lists the processes of a board by what nvmap tells; told is false where it may
// not be asked.
func nvmapProcesses(root fs.FS, uuid string) (all []Process, told bool) {
	raw, err := readSome(root, nvmapClients)
	if err != nil {
		return nil, false
	}
	return parseNvmap(raw, uuid)
}

// parseNvmap reads lines as "user python3 4711 524288K", and "total 524288K". A name may have
// blanks, and a process several lines, one for each time that it opened the device. Without the
// total it is no such list, or not all of it.
func parseNvmap(raw []byte, uuid string) (all []Process, told bool) {
	at := map[int]int{}
	for lines := bufio.NewScanner(bytes.NewReader(raw)); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) == 2 && fields[0] == "total" {
			return all, true
		}
		if len(fields) < 4 || fields[0] != "user" {
			continue // the header, and what the kernel holds itself
		}
		pid, err := strconv.Atoi(fields[len(fields)-2])
		kib, sizeErr := strconv.ParseInt(strings.TrimSuffix(fields[len(fields)-1], "K"), 10, 64)
		if err != nil || sizeErr != nil || pid <= 0 || kib < 0 || kib >= 1<<40 {
			continue
		}
		i, ok := at[pid]
		if !ok {
			i = len(all)
			at[pid] = i
			all = append(all, Process{PID: pid, DeviceUUID: uuid, UsedBytes: new(int64)})
		}
		*all[i].UsedBytes += kib << 10
	}
	return nil, false
}
