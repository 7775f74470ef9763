package code

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/ullage-dev/ullage/internal/pyscope"
	"github.com/ullage-dev/ullage/internal/rules"
	"github.com/ullage-dev/ullage/internal/syntax"
)

// largeLogits matches models whose logits are large: a vocabulary for each token, classes for each pixel.
var largeLogits = regexp.MustCompile(`For(CausalLM|MaskedLM|Seq2SeqLM|ConditionalGeneration|PreTraining|SemanticSegmentation|ImageSegmentation|UniversalSegmentation|SpeechSeq2Seq|Vision2Seq|ImageTextToText)|LMHeadModel`)

// smallLogits matches models whose logits are a few numbers for each sample.
var smallLogits = regexp.MustCompile(`For(SequenceClassification|ImageClassification|AudioClassification|MultipleChoice|NextSentencePrediction|TokenClassification|QuestionAnswering|ObjectDetection|CTC)`)

// checkEvalGather looks for Trainers with a metric whose arguments leave all logits of the evaluation
// on the GPU until it ends.
func checkEvalGather(p *pass) {
	for _, c := range p.Calls {
		if !isTrainer(c) || c.Open() || !given(c.Keyword("compute_metrics")) || given(c.Keyword("preprocess_logits_for_metrics")) {
			continue
		}
		args := p.callBehind(c.Arg(1, "args"))
		if args == nil || args.Open() || movesLogits(args) {
			continue
		}
		name := p.modelName(c.Arg(0, "model"))
		if smallLogits.MatchString(name) {
			continue
		}
		m := rules.Mistake{
			Rule: "leak/eval-gather", Severity: rules.Info, Confidence: rules.Low,
			Message: "the Trainer keeps the logits of the whole evaluation on the GPU for compute_metrics",
			Remedy:  fmt.Sprintf("reduce them with preprocess_logits_for_metrics, or set eval_accumulation_steps in %s", short(args.Callee)),
			Related: []rules.Related{related(args.Node, "eval_accumulation_steps is not set here")},
		}
		if largeLogits.MatchString(name) {
			m.Severity, m.Confidence = rules.Warning, rules.Medium
			m.Evidence = append(m.Evidence, "the model is "+name+": its logits have the vocabulary, or the classes, for every token or pixel")
		}
		p.report(c.Node, m)
	}
}

// isTrainer reports whether a call makes a Trainer of transformers, or of what is built on it.
func isTrainer(c *pyscope.Call) bool {
	switch c.Name {
	case "transformers.Trainer", "transformers.Seq2SeqTrainer", "transformers.trainer.Trainer", "trl.SFTTrainer", "trl.trainer.SFTTrainer", "adapters.AdapterTrainer":
		return true
	}
	return false
}

// given reports whether an argument is there and not None.
func given(n syntax.Node) bool { return n.Ok() && !n.Is("none") }

// callBehind returns the call that an expression is, or that a name is only ever assigned.
func (p *pass) callBehind(n syntax.Node) *pyscope.Call {
	if c := p.Call(n); c != nil {
		return c
	}
	place := p.Place(n)
	if place == nil || len(place.Stores()) != 1 {
		return nil
	}
	return p.Call(place.Stores()[0].Value)
}

// movesLogits reports whether training arguments keep the logits from piling up.
func movesLogits(args *pyscope.Call) bool {
	if given(args.Keyword("eval_accumulation_steps")) {
		return true
	}
	for _, name := range []string{"prediction_loss_only", "batch_eval_metrics", "predict_with_generate"} {
		if v := args.Keyword(name); v.Ok() && !v.Is("false") {
			return true
		}
	}
	return !strings.HasSuffix(args.Callee.Text(), "Arguments") && !strings.HasSuffix(args.Callee.Text(), "Config")
}

// modelName returns what a model is made of, as the source writes it: GPT2LMHeadModel.from_pretrained.
func (p *pass) modelName(n syntax.Node) string {
	place := p.Place(n)
	if place == nil {
		return ""
	}
	for _, r := range place.Stores() {
		if c := p.Call(r.Value); c != nil && (largeLogits.MatchString(c.Callee.Text()) || smallLogits.MatchString(c.Callee.Text())) {
			return c.Callee.Text()
		}
	}
	return ""
}
