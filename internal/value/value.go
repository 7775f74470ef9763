// Package value holds decoded data in eight bytes a value, whatever it was
// decoded from: the readers of pickle and of JSON make Values, a Builder makes of
// their dicts and lists what the program wants.
//
// A Value is a handle. Small integers, None and the booleans are in the handle
// itself; strings, floats and large integers are in a Pool, strings once each;
// objects belong to the Builder, and only it knows what they are. A reader never
// holds a tree: as soon as a dict or a list is complete its Builder turns it into
// one Value, bottom up.
package value

// Value is a handle of decoded data. The zero Value is Nothing.
type Value uint64

// Kind tells what a Value is.
type Kind uint8

// Kinds of values. KindReader is the readers' own: it marks what is not complete
// yet and never reaches a Builder.
const (
	KindConst  Kind = iota // Nothing, None, False, True
	KindInt                // an integer of at most 61 bits, in the handle
	KindNumber             // a float or a larger integer, in the Pool
	KindString             // in the Pool, each once
	KindBytes              // in the Pool, each once
	KindObject             // a Builder's
	KindReader
)

const (
	kindBits = 3
	kindMask = 1<<kindBits - 1

	maxInline = 1<<60 - 1
	minInline = -1 << 60
)

// Constants. Nothing stands for the absence of a value.
const (
	Nothing Value = iota << kindBits
	None
	False
	True
)

// Kind returns the kind of v.
func (v Value) Kind() Kind { return Kind(v & kindMask) }

// Of returns a Value of kind k with the given payload, which must have at most
// 61 bits. It is for readers and builders; Pool makes all others.
func Of(k Kind, payload uint64) Value { return Value(payload<<kindBits) | Value(k) }

// Payload returns what Of was given.
func (v Value) Payload() uint64 { return uint64(v) >> kindBits }

// IsString tells whether v is a string.
func (v Value) IsString() bool { return v.Kind() == KindString }

// IsObject tells whether v belongs to the Builder.
func (v Value) IsObject() bool { return v.Kind() == KindObject }

// Small returns the integer in the handle of a KindInt value.
func (v Value) Small() int64 { return int64(v) >> kindBits }

// SmallInt returns the Value of i, which must lie in ±2^60; Pool.Int takes any.
func SmallInt(i int64) Value { return Value(uint64(i)<<kindBits) | Value(KindInt) }

// Builder makes Values of the containers that a reader decodes, each as soon as it
// is complete, children before parents. The slices belong to the reader and are
// valid during the call only. An error ends the reading and is returned as it is.
type Builder interface {
	// Pool returns where the reader puts strings and numbers.
	Pool() *Pool

	// Dict returns the value of a complete dict. items holds its keys and values in
	// turn, in the order of the input; a key may occur twice, and then the last one
	// counts. in names the list or dict that the dict stands in by a number that no
	// other container has (0: none): dicts of one list come with the same number,
	// and long before that list itself is complete.
	Dict(in Place, items []Value) (Value, error)

	// List returns list with items added at its end. list is Nothing for a new list,
	// else what an earlier call for the same list returned: long lists come in
	// batches. An empty list comes as Nothing with no items.
	List(list Value, items []Value) (Value, error)

	// Tuple returns the value of a complete tuple. JSON has none.
	Tuple(items []Value) (Value, error)

	// CutDict is Dict for a dict in which the input broke off: its last items are
	// missing. It is called innermost first, after all complete ones; returning
	// Nothing drops the dict.
	CutDict(items []Value) Value
}

// Place names a container while it is being read.
type Place uint64
