package sloghandler_test

import (
	"errors"
	"log/slog"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/encode/eventheader"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

type numbers []int

// TestBoundLikeInCall: an attribute has the same type and value in EventHeader whether it was bound or is one of the call.
func TestBoundLikeInCall(t *testing.T) {
	h, tr := attached(t, sloghandler.Options{Encoding: sloghandler.EventHeader})
	for _, v := range []any{
		1, int8(-1), uint64(1 << 63), 0.5, float32(0.1), 1.0, true, "text", "\xff\x1b", time.Second, time.Unix(1, 2), errors.New("e"), nil, slog.LevelWarn,
		[]int{1, -2},
		[]int8{1},
		[]int32{1},
		[]int64{1},
		[]uint64{1 << 63},
		[]uint16{1},
		[]float64{0.5},
		[]float32{0.5},
		[]bool{true},
		[]string{"a", "\xff"},
		[]error{errors.New("a"), nil},
		[]byte{1, 0xff},
		[]byte{},
		[]int(nil), []string(nil), []byte(nil), []error(nil),
		[]int{},
		[]string{},
		numbers{1},
		[2]int{1, 2},
		[]any{1, "x"},
		map[string]int{"a": 1},
		struct{ X int }{1},
		[]time.Duration{1},
		[]time.Time{time.Unix(1, 2).UTC()},
	} {
		slog.New(h).Info("m", "v", v)
		slog.New(h).With("v", v).Info("m")
		records := tr.Records()
		require.Len(t, records, 2)
		assert.Equal(t, attributeNodes(t, records[0]), attributeNodes(t, records[1]), "%T", v)
	}
}

// attributeNodes returns the fields of the struct of attributes.
func attributeNodes(t *testing.T, raw ueventstest.Record) []eventheader.Node {
	t.Helper()
	ev, err := eventheader.Decode(raw.Declaration.Name, raw.Payload)
	require.NoError(t, err)
	tree, err := ev.Tree()
	require.NoError(t, err)
	for _, n := range tree {
		if n.Name == "attributes" {
			return n.Value.([]eventheader.Node)
		}
	}
	t.Fatal("no attributes")
	return nil
}

// TestMemoryOfManyBound: loggers that are derived from each other keep no memory by the square of their number.
func TestMemoryOfManyBound(t *testing.T) {
	h, tr := attached(t, sloghandler.Options{})
	var derived slog.Handler = h
	for i := range 5000 {
		derived = derived.WithAttrs([]slog.Attr{slog.Int("key", i)})
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	slog.New(derived).Info("m")
	runtime.GC()
	runtime.ReadMemStats(&after)
	assert.Less(t, int64(after.HeapAlloc)-int64(before.HeapAlloc), int64(20<<20))
	assert.Contains(t, only(t, tr).json, `"key":4999`)
	runtime.KeepAlive(derived)
}
