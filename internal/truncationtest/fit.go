package truncationtest

import "github.com/userevents/userevents-go/internal/truncate"

// Fit makes an object fit a limit in bytes, in place, as package payload does with one that has a record for itself. It returns
// the object's new length and how many values it cut or dropped.
func Fit(object []byte, limit int) (n, truncated int) {
	n, limit = len(object), max(limit, len(`{}`))
	if n <= limit {
		return n, 0
	}
	lengths := truncate.AppendLengths(nil, object)
	whole, cut, fits := truncate.Divide(lengths, limit-(n-truncate.Sum(lengths)))
	dropped := 0
	if !fits {
		n, dropped = truncate.Drop(object, n-limit)
		lengths = truncate.AppendLengths(lengths[:0], object[:n])
		whole, cut, _ = truncate.Divide(lengths, limit-(n-truncate.Sum(lengths)))
	}
	n, truncated = truncate.Object(object[:n], whole, cut)
	return n, truncated + dropped
}
