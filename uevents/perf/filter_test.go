package perf

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/userevents/userevents-go/tracepoint"
)

// TestDuplicates: two records of one hit, by the new and the old descriptor, differ from two hits, for any padding.
func TestDuplicates(t *testing.T) {
	u32, text := tracepoint.Scalar(tracepoint.U32), tracepoint.Type{Kind: tracepoint.Char, Location: tracepoint.DataLoc}
	fixed := []tracepoint.FormatField{{Type: u32, Offset: 8, Size: 4}}
	dataLoc := []tracepoint.FormatField{{Type: text, Offset: 8, Size: 4}}
	relLoc := []tracepoint.FormatField{{Type: tracepoint.Type{Kind: tracepoint.Char, Location: tracepoint.RelLoc}, Offset: 8, Size: 4}}
	raw := func(location uint32, text, padding string) []byte {
		return append(append(append(make([]byte, commonSize), words(location)...), text...), padding...)
	}
	for name, c := range map[string]struct {
		fields        []tracepoint.FormatField
		newest, older []byte
		want          bool
	}{
		"the same":                    {nil, raw(1, "text", ""), raw(1, "text", ""), true},
		"other padding":               {nil, raw(1, "", "1234"), raw(1, "", "\x00567"), true},
		"other first bytes":           {nil, raw(1, "12345678", ""), raw(2, "12345678", ""), false},
		"a fixed field":               {fixed, raw(1, "", ""), raw(2, "", ""), false},
		"padding after a fixed field": {fixed, raw(1, "", "1234"), raw(1, "", "5678"), true},
		"a text":                      {dataLoc, raw(4<<16|12, "abc\x00", "1234"), raw(4<<16|12, "abd\x00", "1234"), false},
		"padding after a text":        {dataLoc, raw(4<<16|12, "abc\x00", "1234"), raw(4<<16|12, "abc\x00", "5678"), true},
		"a relative text":             {relLoc, raw(4<<16, "abc\x00", "1234"), raw(4<<16, "abd\x00", "1234"), false},
		"padding after a relative":    {relLoc, raw(4<<16, "abc\x00", "1234"), raw(4<<16, "abc\x00", "5678"), true},
		"a location beyond the end":   {dataLoc, raw(0xffff<<16|0xffff, "", "1234"), raw(0xffff<<16|0xffff, "", "5678"), false},
		"a record without its fields": {dataLoc, make([]byte, 4), make([]byte, 4), true},
		"nothing":                     {dataLoc, nil, nil, true},
	} {
		src := &Source{replacing: map[int]*twin{}, fields: c.fields}
		assert.False(t, src.isDuplicate(&descriptor{id: 2}, &Record{TID: 1, Raw: c.newest}), name)
		assert.Equal(t, c.want, src.isDuplicate(&descriptor{id: 1}, &Record{TID: 1, Raw: c.older}), name)
		assert.False(t, src.isDuplicate(&descriptor{id: 1}, &Record{TID: 1, Raw: c.older}), "%s, again", name)
	}
	src := &Source{replacing: map[int]*twin{}}
	for _, hit := range []struct {
		cpu int
		id  uint64
		tid int32
	}{{0, 2, 1}, {0, 1, 7}, {1, 2, 1}, {0, 3, 1}, {0, 4, 1}} {
		assert.False(t, src.isDuplicate(&descriptor{id: hit.id, cpu: hit.cpu}, &Record{TID: hit.tid, Raw: raw(1, "", "")}), "another thread, CPU or newer descriptor")
	}
}
