package output

// shortText is a text that is appended to many lines. One of up to 24 bytes is copied as a whole, in a few instructions.
type shortText struct {
	text  []byte
	short [24]byte
}

func (s *shortText) set(text []byte) {
	s.text = text
	copy(s.short[:], text)
}

func (s *shortText) append(b []byte) []byte {
	n, size := len(b), len(s.text)
	if size > len(s.short) || n+len(s.short) > cap(b) {
		return append(b, s.text...)
	}
	*(*[len(s.short)]byte)(b[n : n+len(s.short)]) = s.short // unlike copy, no call
	return b[:n+size]
}
