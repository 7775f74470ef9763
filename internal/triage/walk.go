package triage

import (
	"fmt"
	"slices"
	"strings"
)

// Answers are values by the keys of their questions.
type Answers map[string]string

// Turn is a question that was answered, and its answer.
type Turn struct {
	Question *Question
	Option   *Option
}

// Walk follows the tree as far as the answers go: the questions that they answer, in
// order, and the one that comes next, nil at the end. Answers to questions that do not come
// up are left alone. Values have to be known: see CheckAnswer.
func Walk(a Answers) (turns []Turn, next *Question) {
	for key := Root; key != ""; {
		q := byKey[key]
		o, ok := q.Option(a[key])
		if !ok {
			return turns, q
		}
		turns = append(turns, Turn{q, o})
		key = o.Next
	}
	return turns, nil
}

// CheckAnswer tells of an answer that no question has, and which there are.
func CheckAnswer(key, value string) error {
	q, ok := byKey[key]
	if !ok {
		var keys []string
		for i := range tree {
			keys = append(keys, tree[i].Key)
		}
		return fmt.Errorf("%q is no question; they are %s", key, strings.Join(keys, ", "))
	}
	if _, ok := q.Option(value); !ok {
		return fmt.Errorf("%q is no answer to %s; they are %s", value, key, strings.Join(q.Values(), ", "))
	}
	return nil
}

// Values are the names of a question's answers.
func (q *Question) Values() []string {
	var all []string
	for _, o := range q.Options {
		all = append(all, o.Value)
	}
	return all
}

// Open returns the questions without an answer that may still come up, the next one first.
func Open(a Answers) []*Question {
	_, next := Walk(a)
	if next == nil {
		return nil
	}
	var open, seen []*Question
	for queue := []*Question{next}; len(queue) > 0; queue = queue[1:] {
		q := queue[0]
		if slices.Contains(seen, q) {
			continue
		}
		seen = append(seen, q)
		if _, known := q.Option(a[q.Key]); !known {
			open = append(open, q)
		}
		for _, o := range q.left(a) {
			if o.Next != "" {
				queue = append(queue, byKey[o.Next])
			}
		}
	}
	return open
}

// left are the answers of q that are left: the one that is known, or all that say
// something.
func (q *Question) left(a Answers) []Option {
	if o, ok := q.Option(a[q.Key]); ok && !o.open() {
		return []Option{*o}
	}
	return slices.DeleteFunc(slices.Clone(q.Options), func(o Option) bool { return o.open() })
}

// open tells whether an answer leaves everything open that its question asked.
func (o *Option) open() bool { return o.Next == "" && len(o.Leaf) == 0 }

// leaves calls visit for the causes at each leaf that can be reached from a question, with
// the share of the ways down that end there: the answers of a question count alike.
func leaves(q *Question, a Answers, share float64, visit func(leaf []Guess, share float64)) {
	options := q.left(a)
	share /= float64(len(options))
	for _, o := range options {
		if o.Next == "" {
			visit(o.Leaf, share)
			continue
		}
		leaves(byKey[o.Next], a, share, visit)
	}
}
