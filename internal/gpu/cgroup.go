package gpu

import (
	"regexp"
	"strings"
)

// Place is where a process runs, as far as its control groups tell. Fields that do not
// apply are empty. A pod's name is not in there, only its UID.
type Place struct {
	Runtime     string `json:"runtime"`      // docker, containerd, cri-o, podman, lxc; "container" where only that is known
	ContainerID string `json:"container_id"` // in full
	PodUID      string `json:"pod_uid"`      // of a Kubernetes pod
	SlurmJob    string `json:"slurm_job"`
	SlurmStep   string `json:"slurm_step"` // a number, or batch, extern, interactive
	Unit        string `json:"unit"`       // of systemd, where it is none of the above
}

// shortID is how much of an id is shown, as docker does.
const shortID = 12

// String names the place in a few words, the one that tells most first.
func (p Place) String() string {
	switch {
	case p.SlurmJob != "" && p.SlurmStep != "":
		return "slurm " + p.SlurmJob + "." + p.SlurmStep
	case p.SlurmJob != "":
		return "slurm " + p.SlurmJob
	case p.PodUID != "":
		return "pod " + short(p.PodUID, 8)
	case p.ContainerID != "":
		return p.Runtime + " " + short(p.ContainerID, shortID)
	}
	return p.Unit
}

func short(id string, n int) string {
	if len(id) > n {
		return id[:n]
	}
	return id
}

// maxCgroupFile bounds what is read of /proc/PID/cgroup: version 1 has a dozen lines.
const maxCgroupFile = 64 << 10

// PlaceOf reads /proc/PID/cgroup. Each line is "hierarchy:controllers:path"; version 2 has
// one line, version 1 one for each controller, of which not all need to say the same.
func PlaceOf(cgroup string) Place {
	var p Place
	for line := range strings.Lines(short(cgroup, maxCgroupFile)) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(fields) == 3 {
			p.add(fields[2])
		}
	}
	if p.ContainerID != "" || p.PodUID != "" || p.SlurmJob != "" {
		p.Unit = ""
	}
	return p
}

// add takes in what one path tells. Paths name what holds first, so that of containers
// within containers the innermost counts.
func (p *Place) add(path string) {
	var found Place
	above := ""
	for part := range strings.SplitSeq(path, "/") {
		found.part(above, part)
		above = part
	}
	p.fill(found)
}

// fill takes fields over that are still empty. Runtime and container go together.
func (p *Place) fill(from Place) {
	if p.ContainerID == "" || p.Runtime == anyRuntime && from.ContainerID == p.ContainerID {
		p.Runtime, p.ContainerID = from.Runtime, from.ContainerID
	}
	if p.SlurmJob == "" || p.SlurmJob == from.SlurmJob && p.SlurmStep == "" {
		p.SlurmJob, p.SlurmStep = from.SlurmJob, from.SlurmStep
	}
	for _, f := range []struct{ to, from *string }{{&p.PodUID, &from.PodUID}, {&p.Unit, &from.Unit}} {
		if *f.to == "" {
			*f.to = *f.from
		}
	}
}

// anyRuntime stands for one that the path does not name.
const anyRuntime = "container"

// Containers: "docker-ID.scope" and the like by runtimes that have systemd make the group,
// a plain ID by those that make it themselves.
var (
	scopeForm = regexp.MustCompile(`^(?:.*:)?([a-z][a-z-]*)[-:]([0-9a-f]{64})(?:\.scope)?$`)
	idForm    = regexp.MustCompile(`^[0-9a-f]{64}$`)
	podForm   = regexp.MustCompile(`(?:^|-)pod([0-9a-f]{8}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{12}|[0-9a-f]{32})(?:\.slice)?(?::|$)`)
	lxcForm   = regexp.MustCompile(`^lxc\.payload\.(.+)$`)
	jobForm   = regexp.MustCompile(`^job_(\d+)$`)
	stepForm  = regexp.MustCompile(`^step_(\w+)$`)
	unitForm  = regexp.MustCompile(`\.(?:service|scope)$`)
)

// runtimes are the names in scopes. A conmon is the process that watches a container, not
// one within.
var runtimes = map[string]string{
	"docker": "docker", "cri-containerd": "containerd", "nerdctl": "containerd", "containerd": "containerd",
	"crio": "cri-o", "libpod": "podman",
}

// part takes in a part of a path, and the part above it.
func (p *Place) part(above, part string) {
	if m := podForm.FindStringSubmatch(part); m != nil {
		p.PodUID = strings.ReplaceAll(m[1], "_", "-")
	}
	switch {
	case p.container(above, part):
	case jobForm.MatchString(part):
		p.SlurmJob, p.SlurmStep = part[len("job_"):], ""
	case stepForm.MatchString(part) && p.SlurmJob != "":
		p.SlurmStep = part[len("step_"):]
	case unitForm.MatchString(part):
		p.Unit = part
	}
}

// container recognises a part of a path that names a container.
func (p *Place) container(above, part string) bool {
	if m := scopeForm.FindStringSubmatch(part); m != nil {
		if name := runtimes[m[1]]; name != "" {
			p.Runtime, p.ContainerID = name, m[2]
		}
		return true
	}
	if m := lxcForm.FindStringSubmatch(part); m != nil {
		p.Runtime, p.ContainerID = "lxc", m[1]
		return true
	}
	if !idForm.MatchString(part) {
		return false
	}
	p.Runtime, p.ContainerID = anyRuntime, part
	if name := runtimes[above]; name != "" { // "/docker/ID"
		p.Runtime = name
	}
	return true
}
