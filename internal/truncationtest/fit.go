package truncationtest

import "github.com/userevents/userevents-go/internal/truncate"

// Fit makes an object fit a limit in bytes, in place, as package payload does with one that has a record for itself. It returns
// the object's new length and how many values it cut or dropped.
func Fit(o []byte, limit int) (n, truncated int) {
	if limit = max(limit, len(`{}`)); len(o) <= limit {
		return len(o), 0
	}
	fitted := object(o)
	truncated = truncate.Fit(&fitted, limit)
	return len(fitted), truncated
}

// object is a [truncate.Record] that consists of one object.
type object []byte

func (o *object) Measure(lengths []int) (all []int, size int) {
	return truncate.AppendLengths(lengths, *o), len(*o)
}

func (o *object) Drop(budget *truncate.Budget) (dropped int) {
	budget.Free += len(*o) - len(`{}`)
	n, dropped := truncate.Drop(*o, budget)
	*o = (*o)[:n]
	return dropped
}

func (o *object) Cut(share int) (cut int) {
	n, cut := truncate.Object(*o, share)
	*o = (*o)[:n]
	return cut
}
