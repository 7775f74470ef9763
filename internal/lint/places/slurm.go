package places

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ullage-dev/ullage/internal/rules"
)

// slurmOptions are the options that a job script gives sbatch in its comments.
type slurmOptions struct {
	found  bool
	values map[string]slurmValue // by long name
}

type slurmValue struct {
	text string
	at   span
}

// slurmShort are the short names of options that are looked at.
var slurmShort = map[string]string{"-n": "ntasks", "-N": "nodes", "-G": "gpus"}

// readSlurm reads the comments before the first command.
func readSlurm(text string) *slurmOptions {
	o := &slurmOptions{values: map[string]slurmValue{}}
	at := 0
	for line := range strings.Lines(text) {
		start := at
		at += len(line)
		trimmed := strings.TrimSpace(line)
		if trimmed != "" && !strings.HasPrefix(trimmed, "#") {
			break
		}
		if rest, ok := strings.CutPrefix(trimmed, "#SBATCH "); ok {
			o.found = true
			o.read(rest, span{start, start + len(strings.TrimRight(line, "\r\n"))})
		}
	}
	return o
}

func (o *slurmOptions) read(rest string, at span) {
	if i := strings.Index(rest, " #"); i >= 0 {
		rest = rest[:i]
	}
	words := strings.Fields(rest)
	for i, w := range words {
		name, value, equals := strings.Cut(w, "=")
		if !equals && i+1 < len(words) {
			value = words[i+1]
		}
		if long, short := slurmShort[name]; short {
			name = "--" + long
		}
		if long, ok := strings.CutPrefix(name, "--"); ok {
			o.values[long] = slurmValue{value, at}
		}
	}
}

// number returns an option that is a plain number.
func (o *slurmOptions) number(name string) (n int, v slurmValue, ok bool) {
	v, given := o.values[name]
	n, err := strconv.Atoi(v.text)
	return n, v, given && err == nil
}

// gpusPerNode returns how many GPUs the job has on each node, where its options say it.
func (o *slurmOptions) gpusPerNode() (n int, v slurmValue, ok bool) {
	for _, name := range []string{"gpus-per-node", "gres"} {
		if v, ok := o.values[name]; ok {
			if n, ok := countOfGres(v.text, name == "gres"); ok {
				return n, v, true
			}
		}
	}
	nodes, _, given := o.number("nodes")
	v = o.values["gpus"]
	n, ok = countOfGres(v.text, false)
	return n, v, ok && given && nodes == 1
}

// countOfGres reads gpu:4, gpu:a100:4, a100:4 or 4.
func countOfGres(text string, gres bool) (int, bool) {
	parts := strings.Split(text, ":")
	if strings.Contains(text, ",") || gres && parts[0] != "gpu" {
		return 0, false
	}
	n, err := strconv.Atoi(parts[len(parts)-1])
	return n, err == nil && n > 0
}

// slurmExport finds variables that --export keeps from programs.
func (c *shellCheck) slurmExport() {
	v, given := c.slurm.values["export"]
	if !given {
		return
	}
	parts := strings.Split(v.text, ",")
	for i, part := range parts {
		name, _, _ := strings.Cut(part, "=")
		if IsAllocator(name) && i+1 < len(parts) && strings.Contains(parts[i+1], ":") {
			c.noEffect(v.at, rules.High, "export the variable in the script, below the options", "--export splits at commas, so that %s ends before %s", name, parts[i+1])
			return
		}
	}
	if strings.EqualFold(v.text, "none") && !c.exports["SLURM_EXPORT_ENV"] {
		c.exportNone(v)
	}
}

// exportNone: under --export=NONE srun passes on nothing that the script exports.
func (c *shellCheck) exportNone(v slurmValue) {
	direct := slices.ContainsFunc(c.steps, func(s step) bool {
		return slices.ContainsFunc(s.words, func(w word) bool { return w.text == "srun" }) &&
			!slices.ContainsFunc(s.words, func(w word) bool { return strings.HasPrefix(w.text, "--export") })
	})
	for _, s := range c.steps {
		for _, set := range s.sets {
			if direct && s.exported && IsAllocator(set.name) {
				c.noEffect(set.at, rules.Medium, "export SLURM_EXPORT_ENV=ALL as well, or call srun --export=ALL", "srun passes %s on to no task: the job has --export=NONE", set.name).
					because("%s", strings.TrimSpace(c.text[v.at.start:v.at.end]))
				return
			}
		}
	}
}

// ranks compares the processes that are started on a node with the GPUs that they see.
func (c *shellCheck) ranks() {
	visible := setting{unknown: true}
	for i := range c.steps {
		s := &c.steps[i]
		here := visible
		for _, set := range s.sets {
			if set.name == "CUDA_VISIBLE_DEVICES" {
				here = set
			}
		}
		if len(s.words) == 0 {
			visible = here
			visible.unknown = visible.unknown || !s.always
			continue
		}
		p := programOf(s.words)
		if l, ok := launchOf(&p, c.number); ok {
			c.ranksOf(&l, &p, s, &here)
		}
	}
}

// number returns the number that a variable always has: the script's own, or one that
// Slurm sets from the job's options.
func (c *shellCheck) number(variable string) (n int, ok bool) {
	switch variable {
	case "SLURM_GPUS_PER_NODE", "SLURM_GPUS_ON_NODE":
		n, _, ok = c.slurm.gpusPerNode()
	case "SLURM_NTASKS_PER_NODE":
		n, _, ok = c.slurm.number("ntasks-per-node")
	default:
		n, ok = c.numbers[variable]
	}
	return n, ok
}

func (c *shellCheck) ranksOf(l *launch, p *program, s *step, visible *setting) {
	if n, ok := deviceCount(visible.value); ok && !visible.unknown && l.processes > n {
		c.tooMany(l, n, fmt.Sprintf("CUDA_VISIBLE_DEVICES=%s", visible.value), visible.at)
		return
	}
	if n, v, ok := c.slurm.gpusPerNode(); ok && l.processes > n {
		c.tooMany(l, n, strings.TrimSpace(c.text[v.at.start:v.at.end]), v.at)
		return
	}
	if !slices.Contains(p.wrappers, "srun") {
		return
	}
	if n, v, ok := c.slurm.number("gpus-per-task"); ok && l.processes > n {
		c.tooMany(l, n, strings.TrimSpace(c.text[v.at.start:v.at.end]), v.at)
		return
	}
	c.launchers(l, s)
}

func (c *shellCheck) tooMany(l *launch, gpus int, why string, at span) {
	f := (&Fault{
		Rule: "dist/ranks-per-gpu", Severity: rules.Warning, Confidence: rules.High,
		Message: fmt.Sprintf("%s starts %d processes where %s can be seen", l.what, l.processes, gpuCount(gpus)),
	}).
		because("%s", why).do("start as many processes as there are GPUs, or ask for more GPUs")
	m := c.report(l.at, f)
	m.Related = []rules.Related{{Start: at.start, End: at.end, What: "this is what can be seen"}}
}

func gpuCount(n int) string {
	if n == 1 {
		return "one GPU"
	}
	return fmt.Sprintf("%d GPUs", n)
}

// launchers finds several launchers on a node that each start a process a GPU.
func (c *shellCheck) launchers(l *launch, s *step) {
	tasks, v, ok := c.slurm.number("ntasks-per-node")
	gpus, _, known := c.slurm.gpusPerNode()
	own := slices.ContainsFunc(s.words, func(w word) bool { return strings.HasPrefix(w.text, "--ntasks") || strings.HasPrefix(w.text, "-n") })
	if !ok || !known || own || tasks*l.processes <= gpus {
		return
	}
	m := c.report(l.at, (&Fault{
		Rule: "dist/ranks-per-gpu", Severity: rules.Warning, Confidence: rules.High,
		Message: fmt.Sprintf("srun starts %d launchers on a node, and each %d processes: %d for %s", tasks, l.processes, tasks*l.processes, gpuCount(gpus)),
	}).
		because("%s", strings.TrimSpace(c.text[v.at.start:v.at.end])).do("write #SBATCH --ntasks-per-node=1: the launcher starts the processes of a node"))
	m.Related = []rules.Related{{Start: v.at.start, End: v.at.end, What: "one launcher for each task"}}
}
