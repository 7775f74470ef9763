package pyscope

import "strings"

// Phase is what a function is for.
type Phase uint8

// Phases.
const (
	AnyPhase Phase = iota
	Train          // it calls backward, or its name says so
	Eval           // it calls eval(), or its name says so
)

// Phase tells whether a function trains or evaluates. What it does counts before what it is
// called.
func (f *Function) Phase() Phase {
	phase := phaseOfName(f.Name)
	for _, c := range f.Calls {
		switch {
		case c.Method == "backward":
			return Train
		case c.Method == "eval" && len(c.Args()) == 0 && phase == AnyPhase:
			phase = Eval
		}
	}
	return phase
}

func phaseOfName(name string) Phase {
	for word := range strings.SplitSeq(strings.ToLower(name), "_") {
		switch word {
		case "train", "training", "fit", "pretrain", "finetune":
			return Train
		case "eval", "evaluate", "evaluation", "val", "valid", "validate", "validation", "test", "testing", "infer", "inference", "predict", "prediction", "generate", "sample":
			return Eval
		}
	}
	return AnyPhase
}
