package triage

import (
	"slices"

	"github.com/ullage-dev/ullage/internal/rules"
)

// Question is a node of the tree. A question has the same key wherever it stands, and is
// asked at most once on the way to a leaf.
type Question struct {
	Key     string // name of the question, as in --answer KEY=VALUE
	Text    string // the question, as it is put to people
	Help    string // why it is asked, and how to find out
	Options []Option
}

// Option is an answer that a question can have, and where it leads: to another question,
// or to the causes that are left.
type Option struct {
	Value string // name of the answer
	Text  string // what it says
	Next  string // key of the next question; empty at a leaf
	Leaf  []Guess
}

// Guess is a cause that fits the answers on the way to a leaf. Where no cause of the
// catalogue is left, it is a symptom, whose page says what to look at.
type Guess struct {
	Rule       string
	Confidence rules.Confidence
}

// Unsure is the answer that every question has. Where the tree says nothing of it, it ends
// the walk, and all that the question would have told apart is left.
const Unsure = "unsure"

// Root is the key of the first question.
const Root = "symptom"

// Questions returns the tree in the order in which it is written: Root first. It is shared
// and must not be changed.
func Questions() []Question { return tree }

var tree = withUnsure(slices.Concat(treeBegin, treeGrows, treeKept, treeRest))

// withUnsure gives the answer Unsure to the questions that do not have it.
func withUnsure(all []Question) []Question {
	for i := range all {
		if _, ok := all[i].Option(Unsure); !ok {
			all[i].Options = append(slices.Clip(all[i].Options), Option{Value: Unsure, Text: "I cannot tell"})
		}
	}
	return all
}

var byKey = func() map[string]*Question {
	m := make(map[string]*Question, len(tree))
	for i := range tree {
		m[tree[i].Key] = &tree[i]
	}
	return m
}()

// Lookup returns the question with a key.
func Lookup(key string) (*Question, bool) {
	q, ok := byKey[key]
	return q, ok
}

// Option returns the answer with a value.
func (q *Question) Option(value string) (*Option, bool) {
	i := slices.IndexFunc(q.Options, func(o Option) bool { return o.Value == value })
	if i < 0 {
		return nil, false
	}
	return &q.Options[i], true
}

// ask is an answer that leads to a question, and end one that leads to causes, likeliest
// first.
func ask(value, text, next string) Option { return Option{Value: value, Text: text, Next: next} }

func end(value, text string, leaf ...Guess) Option {
	return Option{Value: value, Text: text, Leaf: leaf}
}

// likely and maybe are causes at a leaf: those that people with these answers usually
// have, and those that are worth a look when it is none of them.
func likely(rule string) Guess { return Guess{rule, rules.Medium} }
func maybe(rule string) Guess  { return Guess{rule, rules.Low} }
