package pickle

import "fmt"

// RefusedError reports an opcode that would run code or fetch data from elsewhere.
type RefusedError struct {
	Opcode string // "GLOBAL"
	Global string // what it would have imported, "torch._utils._rebuild_tensor_v2", where it says
	Offset int64
}

func (e *RefusedError) Error() string {
	if e.Global != "" {
		return fmt.Sprintf("opcode %s at offset %d asks for %s: only data is read, never code", e.Opcode, e.Offset, e.Global)
	}
	return fmt.Sprintf("opcode %s at offset %d is not data: only data is read, never code", e.Opcode, e.Offset)
}

// SyntaxError reports bytes that are not a pickle.
type SyntaxError struct {
	Offset int64
	Msg    string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("%s at offset %d", e.Msg, e.Offset) }

// CycleError reports a container that was changed after it had been used as an
// element of another, or of itself.
type CycleError struct {
	Offset  int64 // of the change
	Created int64 // where the container was created; -1 where that is no longer known
}

func (e *CycleError) Error() string {
	if e.Created < 0 {
		return fmt.Sprintf("a container is changed at offset %d after it was put into another: self-referential data is not read", e.Offset)
	}
	return fmt.Sprintf("the container created at offset %d is changed at offset %d after it was put into another: self-referential data is not read", e.Created, e.Offset)
}

// LimitError reports input beyond one of the Options' limits.
type LimitError struct {
	What   string // "string length"
	Value  int64
	Limit  int64
	Offset int64
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("%s %d at offset %d is beyond the limit of %d", e.What, e.Value, e.Offset, e.Limit)
}

// TruncatedError reports input that ends before the pickle does. Err is what the
// reader said, io.EOF for a plain end.
type TruncatedError struct {
	Offset  int64 // how many bytes there were
	Reading string
	Err     error
}

func (e *TruncatedError) Error() string {
	return fmt.Sprintf("the pickle breaks off at offset %d while reading %s", e.Offset, e.Reading)
}

func (e *TruncatedError) Unwrap() error { return e.Err }
