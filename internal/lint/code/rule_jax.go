package code

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ullage-dev/ullage/internal/pyscope"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/syntax"
)

// greedy is a library that takes most of a GPU for itself when it is first used.
type greedy struct {
	name      string
	module    string
	uses      []string // prefixes of what begins to use the GPU
	harmless  []string // prefixes of what does not
	variables []string // that stop it
	calls     []string // that stop it
	remedy    string
}

func greedyLibraries() []greedy {
	return []greedy{
		{
			name: "JAX", module: "jax",
			uses:     []string{"jax.", "jax.numpy."},
			harmless: []string{"jax.config", "jax.tree", "jax.debug", "jax.named_scope", "jax.ShapeDtypeStruct", "jax.dtypes", "jax.core", "jax.experimental.enable_x64"},
			variables: []string{
				"XLA_PYTHON_CLIENT_PREALLOCATE", "XLA_PYTHON_CLIENT_MEM_FRACTION", "XLA_CLIENT_MEM_FRACTION", "XLA_PYTHON_CLIENT_ALLOCATOR", "JAX_PLATFORMS", "JAX_PLATFORM_NAME",
			},
			calls:  []string{"jax.config.update"},
			remedy: `set os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false" in front of import jax, or JAX_PLATFORMS="cpu" where JAX needs no GPU`,
		},
		{
			name: "TensorFlow", module: "tensorflow",
			uses:      []string{"tensorflow.data.", "tensorflow_datasets.load", "tensorflow.constant", "tensorflow.convert_to_tensor", "tensorflow.image.", "tensorflow.keras.", "tensorflow.saved_model.load", "tensorflow.function"},
			variables: []string{"TF_FORCE_GPU_ALLOW_GROWTH", "TF_GPU_ALLOCATOR"},
			calls: []string{
				"tensorflow.config.set_visible_devices", "tensorflow.config.experimental.set_visible_devices", "tensorflow.config.experimental.set_memory_growth",
				"tensorflow.config.set_logical_device_configuration", "tensorflow.config.experimental.set_virtual_device_configuration", "tensorflow.device",
			},
			remedy: `call tf.config.set_visible_devices([], "GPU") right after import tensorflow where it only reads data, else set_memory_growth`,
		},
	}
}

// checkPreallocation finds JAX and TensorFlow beside PyTorch in one process, without what keeps them
// from taking the GPU first.
func checkPreallocation(p *pass) {
	if len(p.gpuUses()) == 0 {
		return
	}
	for _, g := range greedyLibraries() {
		first := p.firstUse(g)
		if first == nil || p.choosesVisible() || len(p.calls(g.calls...)) > 0 {
			continue
		}
		sure := rules.Medium
		if set := p.restrained(g); set.Ok() {
			if imported := p.importOf(g.module); !imported.Ok() || set.Start() < imported.Start() {
				continue
			}
			sure = rules.Low // the variable may still be seen, or not
		}
		p.report(first.Node, rules.Mistake{
			Rule: "third/jax-preallocation", Severity: rules.Warning, Confidence: sure,
			Message:  fmt.Sprintf("%s takes most of the GPU with %s, and PyTorch shares that GPU in this process", g.name, short(first.Callee)),
			Evidence: []string{fmt.Sprintf("line %d: %s uses the GPU through PyTorch", p.Line(p.gpuUses()[0].Node), short(p.gpuUses()[0].Node)), "nothing in this file limits " + g.name},
			Remedy:   g.remedy,
		})
	}
}

// firstUse returns the first call that makes a library take its share, where it is imported at the
// top level.
func (p *pass) firstUse(g greedy) *pyscope.Call {
	if !p.importOf(g.module).Ok() && g.module == "jax" {
		return nil
	}
	for _, c := range p.Calls {
		if hasPrefix(c.Name, g.uses) && !hasPrefix(c.Name, g.harmless) && (p.importOf(g.module).Ok() || p.importOf("tensorflow_datasets").Ok()) {
			return c
		}
	}
	return nil
}

func hasPrefix(name string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// restrained returns where a variable is set that keeps a library modest.
func (p *pass) restrained(g greedy) syntax.Node {
	for _, s := range p.settings() {
		if s.own && slices.Contains(g.variables, s.name) {
			return s.node
		}
	}
	return syntax.Node{}
}

// importOf returns the first import of a module, or of a part of it, at the top level.
func (p *pass) importOf(module string) syntax.Node {
	for s := range p.Tree.Root().Children() {
		if !s.Is("import_statement", "import_from_statement") {
			continue
		}
		for name := range s.Descendants() {
			if name.Is("dotted_name") && (name.Text() == module || strings.HasPrefix(name.Text(), module+".")) && name.FieldName() != "alias" {
				return s
			}
			if s.Is("import_from_statement") && name.Is("dotted_name") {
				break // the rest are names of that module
			}
		}
	}
	return syntax.Node{}
}
