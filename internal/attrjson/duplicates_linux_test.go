package attrjson_test

import (
	"strconv"
	"testing"

	"github.com/userevents/userevents-go/internal/attrjson"
	"github.com/userevents/userevents-go/internal/testscale"
)

// TestCostOfDuplicates: the cost does not grow with the square of the number of members.
func TestCostOfDuplicates(t *testing.T) {
	testscale.Linear(t, 500, func(n int) func() {
		w := attrjson.Begin(nil, attrjson.NoLimit)
		for i := range n {
			w.Key(strconv.Itoa(i))
			w.Int(int64(i))
		}
		return func() { w.End(attrjson.KeepLast) }
	})
}
