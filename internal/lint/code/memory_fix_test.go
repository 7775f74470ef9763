package code

import "testing"

const resumed = `import torch
import torch.distributed as dist
def resume(model, path, rank):
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl")
    model.load_state_dict(torch.load(path, weights_only=True))
`

// TestLoadFix: a load is moved to the CPU where its value goes nowhere but into load_state_dict.
func TestLoadFix(t *testing.T) {
	want := replaceOnce(t, resumed, "weights_only=True", `weights_only=True, map_location="cpu"`)
	if got := repaired(t, resumed); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for name, change := range map[string][2]string{
		"a part of it is used":        {"torch.load(path, weights_only=True)", `torch.load(path)["model"]`},
		"it is kept":                  {"model.load_state_dict(torch.load(path, weights_only=True))", "checkpoint = torch.load(path)\n    model.load_state_dict(checkpoint)"},
		"the keyword is there":        {"weights_only=True", "map_location=None"},
		"another function is between": {"torch.load(path, weights_only=True)", "cleaned(torch.load(path))"},
	} {
		t.Run(name, func(t *testing.T) {
			source := replaceOnce(t, resumed, change[0], change[1])
			if got := repaired(t, source); got != source {
				t.Errorf("repaired to\n%s", got)
			}
		})
	}
}
