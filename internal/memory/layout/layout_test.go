package layout

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
)

// TestPlaces: names and places are those of docs/wire-formats.md. Programs and tools of other versions have the same.
func TestPlaces(t *testing.T) {
	var (
		d Data
		c Control
	)
	assert.Equal(t, []string{"userevents-data", "userevents-control"}, []string{DataName, ControlName})
	for _, p := range []struct {
		name      string
		got, want uintptr
	}{
		{"processors", unsafe.Offsetof(d.Processors), 12},
		{"count", unsafe.Offsetof(d.Count), 16},
		{"words in use", unsafe.Offsetof(d.InUse), 20},
		{"control file", unsafe.Offsetof(d.Control), 24},
		{"unsealed", unsafe.Offsetof(d.Unsealed), 32},
		{"sessions", unsafe.Offsetof(d.Sessions), 0x1000},
		{"a session", unsafe.Sizeof(d.Sessions[0]), 64},
		{"registry", unsafe.Offsetof(d.Registry), 0x2000},
		{"an entry", unsafe.Sizeof(d.Registry[0]), 16},
		{"gates", unsafe.Offsetof(d.Gates), 0x12000},
		{"losses", unsafe.Offsetof(d.Lost), 0x112000},
		{"text", unsafe.Offsetof(d.Text), 0x192000},
		{"data", uintptr(DataSize), 0x2a0000},
		{"heads and rings of a session", uintptr(SessionSize), 0x4010000},
		{"a head", unsafe.Sizeof(Head{}), 128},
		{"rings behind the heads", uintptr(RingsStart), 0x10000},
		{"the last session", uintptr(RingsOffset(7)), 0x2a0000 + 7*0x4010000},
		{"bits of sessions", AllSessions, 0xff},
		{"data file", uintptr(FileSize), 0x2a0000 + 8*0x4010000},

		{"claimed", unsafe.Offsetof(c.Claimed), 12},
		{"words", unsafe.Offsetof(c.Words), 0x1000},
		{"requests", unsafe.Offsetof(c.Requests), 0x9000},
		{"sessions of tools", unsafe.Offsetof(c.Sessions), 0xd000},
		{"a session of a tool", unsafe.Sizeof(c.Sessions[0]), 0x2000},
		{"patterns", unsafe.Offsetof(c.Sessions[0].Patterns), 0xc00},
		{"tails", unsafe.Offsetof(c.Sessions[0].Tails), 0x1000},
		{"control file", uintptr(ControlSize), 0x20000},

		{"text of an event", unsafe.Offsetof(d.Registry[0].Offset), 0},
		{"length of the text", unsafe.Offsetof(d.Registry[0].Length), 4},
		{"held", unsafe.Offsetof(d.Registry[0].Held), 8},
		{"noticed", unsafe.Offsetof(d.Sessions[0].Noticed), 0},
		{"opened", unsafe.Offsetof(d.Sessions[0].Opened), 8},
		{"key", unsafe.Offsetof(d.Sessions[0].Key), 16},
		{"bank", unsafe.Offsetof(d.Sessions[0].Bank), 24},
		{"refused", unsafe.Offsetof(d.Sessions[0].Refused), 28},
		{"position", unsafe.Offsetof(Head{}.Position), 0},
		{"done", unsafe.Offsetof(Head{}.Done), 8},
		{"start", unsafe.Offsetof(Head{}.Start), 16},
		{"generation", unsafe.Offsetof(c.Sessions[0].Generation), 0},
		{"size of rings", unsafe.Offsetof(c.Sessions[0].RingSize), 8},
		{"number of rings", unsafe.Offsetof(c.Sessions[0].Rings), 16},
		{"size of patterns", unsafe.Offsetof(c.Sessions[0].PatternsSize), 20},
		{"limit", unsafe.Offsetof(c.Sessions[0].Limit), 24},
		{"return addresses", unsafe.Offsetof(c.Sessions[0].Callers), 28},
		{"expiry", unsafe.Offsetof(c.Sessions[0].Expires), 32},
		{"a tail", unsafe.Sizeof(Tail{}), 64},
	} {
		assert.Equal(t, p.want, p.got, p.name)
	}
}

// TestMatches: patterns are those of path.Match; what a tool has written halfway is no match, and harms nothing.
func TestMatches(t *testing.T) {
	var s Session
	set := func(text string) {
		clear(s.Patterns[:])
		s.PatternsSize.Store(uint32(copy(s.Patterns[:], text)))
	}
	assert.False(t, s.Matches("app_info"))
	set("app_*\x00other\x00")
	assert.True(t, s.Matches("app_info"))
	assert.True(t, s.Matches("other"))
	assert.False(t, s.Matches("another"))
	assert.False(t, s.Matches("ap"))
	set("[\x00x\x00")
	assert.False(t, s.Matches("app_info"))
	s.PatternsSize.Store(1 << 31)
	assert.False(t, s.Matches("app_info"))
	assert.True(t, s.Matches("x"))
}
