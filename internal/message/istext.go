package message

import (
	"bytes"
	"unicode/utf8"
)

// IsText reports whether a file that begins with head can be a log: text in UTF-8 or
// in a one-byte encoding, with no more than a few control characters. It does not
// say whether the text is of interest.
func IsText(head []byte) bool {
	head = bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))
	odd, n := 0, 0
	for i := 0; i < len(head); n++ {
		r, size := utf8.DecodeRune(head[i:])
		switch {
		case r == 0:
			return false
		case r == utf8.RuneError && size == 1 && len(head)-i >= utf8.UTFMax, // not a character that head cuts
			r < ' ' && r != '\n' && r != '\r' && r != '\t' && r != 0x1b && r != '\b' && r != '\f' && r != '\a':
			odd++
		}
		i += max(size, 1)
	}
	return odd*20 <= n
}
