package gpu

import "strings"

// mergeProcesses makes one of the entries of a process that is in several lists of a device.
func mergeProcesses(all []Process, uuid string) []Process {
	type key struct{ pid, gi, ci int }
	at := map[key]int{}
	var merged []Process
	for _, p := range all {
		p.DeviceUUID = uuid
		k := key{p.PID, -1, -1}
		if p.GPUInstance != nil && p.ComputeInstance != nil {
			k.gi, k.ci = *p.GPUInstance, *p.ComputeInstance
		}
		i, ok := at[k]
		if !ok {
			at[k] = len(merged)
			merged = append(merged, p)
			continue
		}
		if merged[i].Use != p.Use {
			merged[i].Use = useBoth
		}
		if merged[i].UsedBytes == nil || p.UsedBytes != nil && *p.UsedBytes > *merged[i].UsedBytes {
			merged[i].UsedBytes = p.UsedBytes // the lists tell the same amount
		}
	}
	return merged
}

// profileOf cuts a profile out of a MIG device's name, as in "NVIDIA H100 80GB HBM3 MIG 1g.10gb".
func profileOf(name string) string {
	_, profile, ok := strings.Cut(name, " MIG ")
	if !ok {
		return ""
	}
	return profile
}
