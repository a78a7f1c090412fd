package reader

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// NoticeKind is the kind of a [Notice].
type NoticeKind uint8

// The kinds of notices.
const (
	// NoticeAttached: an event that appeared after Open is attached.
	NoticeAttached NoticeKind = iota + 1
	// NoticeFailed: an event is not attached. Err has the reason.
	NoticeFailed
	// NoticeNoWriter: the last process that was seen to write the event has exited. The event stays attached, and
	// meanwhile a program that registers other fields under its name gets EADDRINUSE.
	NoticeNoWriter
	// NoticeDetached: the event was detached after its last writer exited, because of Options.DetachAtExit, or because it was in
	// shared memory.
	NoticeDetached
	// NoticeLost: the kernel lost Count records of the event since the last notice of this kind, at least a second ago,
	// because the rings had no room.
	NoticeLost
	// NoticeTransport: the kernel's events are not read, but those in shared memory. Err has the reason.
	NoticeTransport
	// NoticeDisabled: programs that offer the event in shared memory had disabled it for at most Gap, because the Reader did not read
	// for more than 10 s (the process was stopped, or its output was not ready) and their rings were full. Records of that time are in
	// no count. The event is enabled again.
	NoticeDisabled
	// NoticeRefused: there are Count processes that the Reader has no permission to look into. They may offer events in shared memory.
	// Err says which capabilities are missing. It comes once, and not with Selection.Processes, of which each has a NoticeFailed.
	NoticeRefused
	// NoticeExited: the process PID, which wrote records, has exited, executes another program, or has closed its events in shared
	// memory. Next has returned its records, but for late ones. The end of a process that uses the kernel is not noticed
	// if each event that it wrote is also written by more than 1,000 others, nor from another PID namespace.
	NoticeExited
	// NoticeLimited: there were more records of the event than Options.Limit, or of its program than ProgramLimit, and it was disabled Count times, for Gap in all, since the
	// last notice of this kind, at least a second ago. Records of that time are in no count.
	NoticeLimited
)

var noticeNames = [...]string{"unknown", "attached", "failed", "ended", "detached", "lost", "transport", "disabled", "refused", "exited", "limited"}

// String returns the name of the kind, such as "attached".
func (k NoticeKind) String() string {
	if int(k) >= len(noticeNames) {
		k = 0
	}
	return noticeNames[k]
}

// Notice reports a change of an attached event, or lost records.
type Notice struct {
	Kind  NoticeKind
	Time  time.Time
	Event string // SYSTEM:NAME; empty in NoticeLost and NoticeLimited where more than 1,000 events were detached in a second
	Err   error  // NoticeFailed, NoticeTransport, NoticeRefused: the reason; NoticeDetached: the error of detaching, or nil
	Count uint64 // NoticeLost: number of lost records; NoticeRefused: number of processes; NoticeLimited: of times
	PID   int32  // NoticeExited: the process; it may be that of a new one already
	// Gap is, in NoticeDisabled and NoticeLimited, how long the event was disabled; in NoticeAttached, how long it may have been registered before it
	// was attached. Records that its program
	// wrote meanwhile are missing. It is 0 if that is not known.
	Gap time.Duration
}

// maxNotices is how many notices wait for Next. Further ones are dropped: a program that creates very many events which
// cannot be attached makes all notices look the same.
const maxNotices = 4096

// notices are those that Next has not delivered. The methods may be called concurrently.
type notices struct {
	some atomic.Bool // there are notices
	mu   sync.Mutex
	list []Notice // guarded by mu
}

func (n *notices) add(notice Notice) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.list) >= maxNotices {
		return
	}
	notice.Time = time.Now()
	n.list = append(n.list, notice)
	n.some.Store(true)
}

// keep forgets the notices for which f returns false.
func (n *notices) keep(f func(Notice) bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list = slices.DeleteFunc(n.list, func(notice Notice) bool { return !f(notice) })
}

// take returns the notices, and forgets them.
func (n *notices) take() []Notice {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := n.list
	n.list = nil
	n.some.Store(false)
	return list
}
