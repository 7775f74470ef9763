package gpu

import (
	"fmt"
	"strings"
	"time"

	"github.com/ullage-dev/ullage/internal/units"
)

// scenes are the machines after "fake:". Sizes of the cards are those that their drivers
// tell; the programs on them are made up.
func scenes() map[string]func() scene {
	return map[string]func() scene{
		"h200x2":        sceneH200x2,
		"h200x2-idle":   idle(sceneH200x2),
		"h100x8":        sceneH100x8,
		"h100x8-idle":   idle(sceneH100x8),
		"a40x4":         sceneA40x4,
		"a40x4-idle":    idle(sceneA40x4),
		"a40x8":         sceneA40x8,
		"a40x8-idle":    idle(sceneA40x8),
		"h100-mig":      sceneMIG,
		"h100-mig-idle": idle(sceneMIG),
		"t4-vgpu":       sceneVGPU,
		"orin":          sceneOrin,
		"stuck":         sceneStuck,
	}
}

// idle is a machine without its programs, to try leases on.
func idle(build func() scene) func() scene {
	return func() scene {
		s := build()
		s.actors = nil
		for i := range s.devices {
			if s.devices[i].Utilization != nil {
				s.devices[i] = busy(s.devices[i], 0)
			}
		}
		return s
	}
}

// card makes a device with memory of its own and nothing on it.
func card(index int, name string, totalMiB, reservedMiB int64) Device {
	zero, reserved, idle := int64(0), reservedMiB*units.MiB, 0
	return Device{
		Index:       index,
		UUID:        fmt.Sprintf("GPU-00000000-0000-4000-8000-%012d", index),
		Name:        name,
		PCIAddress:  fmt.Sprintf("00000000:%02x:00.0", 0x1b+0x10*index),
		Kind:        KindGPU,
		Memory:      &Memory{TotalBytes: totalMiB * units.MiB, ReservedBytes: &reserved, FreeBytes: (totalMiB - reservedMiB) * units.MiB},
		Utilization: &idle,
		ECC:         ECC{Mode: "on", Corrected: &zero, Uncorrected: &zero},
		Persistence: "on",
		ComputeMode: "default",
	}
}

func busy(d Device, percent int) Device {
	d.Utilization = &percent
	return d
}

// container makes an id of 64 digits that begins as the one given.
func container(runtime, id string) Place {
	return Place{Runtime: runtime, ContainerID: id + strings.Repeat("0", 64-len(id))}
}

func pod(uid, id string) Place {
	p := container("containerd", id)
	p.PodUID = uid
	return p
}

// breathing rises and falls as a training does whose memory is given back every step.
func breathing(low, high int64) script {
	return script{[]point{{0, low}, {4 * time.Second, high}, {6 * time.Second, high}, {10 * time.Second, low}}}
}

const gib = units.GiB

func sceneH200x2() scene {
	devices := []Device{busy(card(0, "NVIDIA H200", 143771, 601), 97), busy(card(1, "NVIDIA H200", 143771, 601), 64)}
	return scene{
		driver: "580.95.05", cuda: "13.0",
		devices: devices, links: switched(devices, 18),
		actors: []actor{
			{process: program(41207, "alice", 1001, "python train.py --config llama-8b.yaml", Place{SlurmJob: "88172", SlurmStep: "0"}), load: breathing(62*gib, 81*gib)},
			{process: program(41533, "bob", 1002, "python -m ipykernel_launcher -f kernel.json", container("docker", "9f2c41d07ab8")), load: steady(11*gib + 300*units.MiB)},
			{process: Process{}, load: steady(520 * units.MiB)}, // the context of a process that nobody sees
			{device: 1, process: program(52011, "carol", 1003, "python -m vllm.entrypoints.openai.api_server --model mistral", pod("3b1f6a52-7c1e-4f0e-9a55-0d1f2e3a4b5c", "c0ffee5e7d21")), load: steady(96 * gib)},
			{device: 1, process: program(52877, "dave", 1004, "python finetune.py", Place{Unit: "session-12.scope"}), load: climb(4*gib, 34*gib, 10*time.Minute)},
		},
	}
}

// sceneH100x8 is as busy as a machine gets: 8 devices, 200 processes.
func sceneH100x8() scene {
	s := scene{driver: "570.172.08", cuda: "12.8"}
	for i := range 8 {
		s.devices = append(s.devices, busy(card(i, "NVIDIA H100 80GB HBM3", 81559, 551), 10*i))
		for k := range 25 {
			pid := 60000 + 100*i + k
			user := fmt.Sprintf("user%02d", k%10)
			s.actors = append(s.actors, actor{
				device:  i,
				process: program(pid, user, 2000+k%10, fmt.Sprintf("python worker.py --shard %d", k), Place{SlurmJob: fmt.Sprint(90000 + i), SlurmStep: fmt.Sprint(k)}),
				load:    breathing(int64(1+k%3)*gib, int64(1+k%3)*gib+512*units.MiB),
			})
		}
	}
	s.links = switched(s.devices, 18)
	return s
}

func sceneMIG() scene {
	d := card(0, "NVIDIA H100 80GB HBM3", 81559, 551)
	d.MIG, d.Utilization = true, nil
	for i, in := range []struct {
		profile  string
		gi       int
		totalMiB int64
	}{{"3g.40gb", 1, 40448}, {"2g.20gb", 3, 20096}, {"1g.10gb", 9, 9856}} {
		reserved := int64(0)
		d.Instances = append(d.Instances, Instance{
			UUID: fmt.Sprintf("MIG-00000000-0000-5000-8000-%012d", i), Profile: in.profile, GPUInstance: in.gi,
			Memory: &Memory{TotalBytes: in.totalMiB * units.MiB, ReservedBytes: &reserved, FreeBytes: in.totalMiB * units.MiB},
		})
	}
	return scene{
		driver: "570.172.08", cuda: "12.8",
		devices: []Device{d},
		actors: []actor{
			{instance: 0, process: program(7101, "alice", 1001, "python train.py", container("podman", "5d0e8c33aa10")), load: breathing(20*gib, 33*gib)},
			{instance: 1, process: program(7202, "bob", 1002, "python serve.py", pod("a4de0fd5-1c11-4d25-bb0c-2f7f0f3b9d10", "77aa12bc90de")), load: steady(15 * gib)},
			{instance: 2, process: program(7303, "carol", 1003, "jupyter-lab", Place{Unit: "jupyter.service"}), load: steady(2 * gib)},
		},
	}
}

// sceneVGPU is the guest's view of a share of a T4.
func sceneVGPU() scene {
	d := card(0, "GRID T4-8Q", 8192, 0)
	d.Kind, d.Memory.ReservedBytes, d.ECC, d.PCIAddress = KindVGPU, nil, ECC{}, "00000000:02:00.0"
	return scene{
		driver: "550.144.03", cuda: "12.4",
		devices: []Device{busy(d, 35)},
		actors: []actor{
			{process: program(1810, "alice", 1001, "python infer.py", Place{Unit: "infer.service"}), load: breathing(3*gib, 4*gib)},
			{process: program(1944, "root", 0, "/usr/lib/xorg/Xorg :0", Place{Unit: "display-manager.service"}), load: steady(300 * units.MiB), untold: true},
		},
	}
}

// sceneOrin is a Jetson: one memory for all, and nobody who tells what is the GPU's.
func sceneOrin() scene {
	return scene{
		driver: "R36.4.3",
		devices: []Device{{
			UUID: "unified-0", Name: "NVIDIA Jetson AGX Orin Developer Kit", Kind: KindUnified,
			Memory: &Memory{TotalBytes: 62841 * units.MiB, FreeBytes: 62841 * units.MiB},
		}},
		actors: []actor{{load: breathing(14*gib, 22*gib)}},
		notes:  []string{sharedNote},
	}
}

// sceneStuck is a driver that hangs.
func sceneStuck() scene {
	s := sceneH200x2()
	s.stuck = true
	return s
}
