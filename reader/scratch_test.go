package reader

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestLargeRecordsLeaveNothingBehind: an event keeps no more memory than most records need.
func TestLargeRecordsLeaveNothingBehind(t *testing.T) {
	s := &scratch{arena: make([]Field, maxKept), stack: make([]Field, maxKept+1), top: make([]Field, maxKept+1)}
	s.begin()
	assert.Equal(t, []int{0, maxKept, 0, 0, 0, 0}, []int{len(s.arena), cap(s.arena), len(s.stack), cap(s.stack), len(s.top), cap(s.top)})
	for n, kept := range map[int]bool{maxKept: true, maxKept + 1: false} {
		list := make([]Field, n)
		for i := range list {
			list[i].Name = strconv.Itoa(i)
		}
		require.Len(t, s.unique(list, 0), n)
		assert.Equal(t, kept, s.seen != nil)
		assert.Empty(t, s.seen)
	}
}

// TestElementsStay: elements of lists do not change when more are added.
func TestElementsStay(t *testing.T) {
	s := new(scratch)
	var lists [][]Field
	for i := range 100 {
		s.stack = append(s.stack, Field{Value: Int64Value(-1)})
		for k := range i {
			s.stack = append(s.stack, Field{Value: Int64Value(int64(i + k))})
		}
		lists = append(lists, s.end(len(s.stack)-i))
	}
	for i, list := range lists {
		require.Len(t, list, i)
		assert.Equal(t, len(list), cap(list), "nothing can be appended in place")
		for k, f := range list {
			assert.Equal(t, int64(i+k), f.Value.Int64())
		}
	}
	assert.Len(t, s.stack, 100)
}
