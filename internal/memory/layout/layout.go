// Package layout is the shared memory in which a program offers its events to tracing tools, version 1: the places and types of
// everything in it. docs/wire-formats.md describes it for tools in other languages.
//
// There are two files. The program writes Data, which tools can only read; tools and the program write Control. Neither side can
// rely on values that the other one wrote.
package layout

import (
	"path"
	"strings"
	"sync/atomic"
	"unsafe"
)

// Names of the files, as memfd_create gets them. Only package private of the tests changes them.
var (
	DataName    = "userevents-data"
	ControlName = "userevents-control"
)

// EnvTool is the environment variable by which a tool that starts a program gives it the name of an abstract Unix socket. A program
// that has made its files connects to it, and registers nothing until the tool has closed the connection.
const EnvTool = "USER_EVENTS_TOOL"

// Magic and Version are at the start of both files.
const (
	Magic   = "uevents\x00"
	Version = 1
)

// Limits of the memory.
const (
	Sessions = 8       // tools at a time
	Events   = 4096    // in the life of the memory: the number of an event is not used again
	Words    = 4096    // enable words
	Bits     = 64      // of a word
	Text     = 1 << 20 // bytes of all commands
	Rings    = 64      // of a session
	Patterns = 1024    // bytes of a session's patterns
	Callers  = 64      // return addresses in a record

	AllSessions = 1<<Sessions - 1 // a bit for each

	MinRing = 4 << 10  // bytes
	MaxRing = 64 << 20 // bytes of all rings of a session together
)

// Data is the first part of the file that the program writes. The rings follow; see [RingsOffset].
type Data struct {
	Magic      [8]byte
	Version    uint32
	Processors uint32        // that the program uses: more rings than these gain nothing
	Count      atomic.Uint32 // of Registry that are in use; each entry is complete before it counts
	InUse      atomic.Uint32 // of Gates: no word behind them was ever handed out
	Control    uint64        // inode number of the control file
	Unsealed   uint32        // 1 if the kernel does not keep others from writing to the file, or from changing its size
	_          [4096 - 36]byte

	Sessions [Sessions]Opened // from 4096
	_        [4096 - Sessions*64]byte

	Registry [Events]Entry       // from 8192, by number
	Gates    [Words][Bits]Gate   // which event follows a bit of Control.Words
	Lost     [Sessions][2]Losses // by session and bank
	Text     [Text]byte          // what entries refer to
}

// Opened is a session as the program sees it. A tool compares the generations with its own before it trusts the rest.
type Opened struct {
	Noticed atomic.Uint64 // generation of the session that Bank counts for
	Opened  atomic.Uint64 // generation of the session whose rings are in use
	Key     uint64
	Bank    atomic.Uint32 // of Lost
	Refused atomic.Uint32 // errno if the program does not open the session that it has noticed, else 0
	_       [32]byte
}

// Entry describes an event.
type Entry struct {
	Offset uint32        // of its command in Text: name and fields, as in docs/wire-formats.md
	Length uint32        // of the command
	Held   atomic.Uint32 // 0 when the event was removed
	_      uint32
}

// Gate is the event that follows an enable bit: its number and 1, or 0.
type Gate = atomic.Uint32

// Losses are the records of each event that found no room.
type Losses [Events]atomic.Uint64

// Control is the file that tools write.
type Control struct {
	Magic   [8]byte
	Version uint32
	Claimed atomic.Uint32 // bits of sessions that the program looks at when it registers an event
	_       [4096 - 16]byte

	Words    [Words]atomic.Uint64  // from 4096: enable bits
	Requests [Events]atomic.Uint32 // from 36864: bits of sessions that want the event

	Sessions [Sessions]Session
}

// Session is what a tool asks for.
type Session struct {
	Generation   atomic.Uint64 // grows with each tool that has the session
	RingSize     atomic.Uint64 // bytes of each ring, a power of two
	Rings        atomic.Uint32 // number of rings, a power of two
	PatternsSize atomic.Uint32 // bytes of Patterns in use
	Limit        atomic.Uint32 // of records of each event in a second of CLOCK_MONOTONIC; 0 is none
	Callers      atomic.Uint32 // most return addresses in a record
	Expires      atomic.Uint64 // CLOCK_MONOTONIC in nanoseconds at which the tool counts as ended; 0 is never
	_            [4096 - 40 - Patterns]byte
	Patterns     [Patterns]byte // names of events with * and ?, each with a NUL behind it
	Tails        [Rings]Tail
}

// Tail is how far the tool has read a ring.
type Tail struct {
	Position atomic.Uint64
	_        [56]byte
}

// Head is the beginning of a ring.
type Head struct {
	Position atomic.Uint64 // behind the last record that has its room
	Done     atomic.Uint64 // how far it would be if only complete records counted
	Start    uint64        // of the session
	_        [104]byte     // two cache lines, since processors fetch them in pairs
}

const (
	// DataSize is the size of [Data] in the file, in whole pages of all machines.
	DataSize = (int(unsafe.Sizeof(Data{})) + pageSize - 1) &^ (pageSize - 1)
	// ControlSize is the size of the file that tools write.
	ControlSize = (int(unsafe.Sizeof(Control{})) + pageSize - 1) &^ (pageSize - 1)

	headsSize = Rings * int(unsafe.Sizeof(Head{}))
	// SessionSize is the size of the heads and rings of a session in the file.
	SessionSize = (headsSize+pageSize-1)&^(pageSize-1) + MaxRing
	// RingsStart is where the first ring of a session is, behind its heads.
	RingsStart = SessionSize - MaxRing
	// FileSize is the size of the file that the program writes. Pages that were never used take no memory.
	FileSize = DataSize + Sessions*SessionSize

	pageSize = 64 << 10 // the largest of all machines
)

// RingsOffset is where the heads of a session are in the file.
func RingsOffset(session int) int { return DataSize + session*SessionSize }

// DataAt gives the bytes of the mapped file their type.
func DataAt(b []byte) *Data { return (*Data)(unsafe.Pointer(&b[:unsafe.Sizeof(Data{})][0])) }

// ControlAt is the control file.
func ControlAt(b []byte) *Control {
	return (*Control)(unsafe.Pointer(&b[:unsafe.Sizeof(Control{})][0]))
}

// HeadsAt are the heads of a session.
func HeadsAt(b []byte) *[Rings]Head { return (*[Rings]Head)(unsafe.Pointer(&b[:headsSize][0])) }

// Matches reports whether one of the session's patterns matches the name of an event. A tool may be changing them.
func (s *Session) Matches(name string) bool {
	patterns := s.Patterns // once
	n := min(s.PatternsSize.Load(), Patterns)
	for pattern := range strings.SplitSeq(string(patterns[:n]), "\x00") {
		if ok, _ := path.Match(pattern, name); ok {
			return true
		}
	}
	return false
}
