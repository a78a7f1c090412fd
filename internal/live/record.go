// Package live has the records and the counts of events that are read while programs write them, by the kernel or in shared memory.
package live

import "time"

// Kind is the kind of a [Record].
type Kind uint8

// The kinds of records. Records in shared memory are of the kind Sample.
const (
	Sample Kind = iota + 1 // a record of an event
	Comm                   // a thread changed its name, Record.Comm
	Exec                   // the same because of an exec
	Fork                   // a process (PID is not ParentPID) or a thread started
	Exit                   // a thread ended, or the process if TID is PID
	Cgroup                 // a cgroup was made, whose id and path are Record.CgroupID and CgroupPath
)

// Record is a record that was taken out of a ring. Slices refer to buffers of the session that read it, and are valid until the
// session reads the next one: copy them to keep them.
type Record struct {
	Kind      Kind
	Time      time.Time // the machine's clock
	Monotonic uint64    // CLOCK_MONOTONIC in nanoseconds, which orders records
	CPU       int       // -1 in shared memory
	// PID and TID are the writer's process and thread in the PID namespace of the session, or 0 if they are not in it.
	// In Fork records they are the new ones. In shared memory TID is 0.
	PID, TID             int32
	ParentPID, ParentTID int32 // of Fork and Exit
	Comm                 []byte
	// Tag is the value that the caller attached the event of a Sample with; nil in other kinds.
	Tag any
	// CgroupID is the writer's cgroup: the inode number of its directory. If that has no controllers, since its parents enable none in
	// cgroup.subtree_control, it is the nearest one above that has some. It is 0 if it is not recorded.
	CgroupID uint64
	// CgroupPath is the path of a new cgroup from the root of its hierarchy, in records of the kind Cgroup.
	CgroupPath []byte
	// Callchain has the return addresses of the user's stack, innermost first, if they are recorded.
	Callchain []uint64
	// Raw is the record of the tracepoint, common fields included: the offsets of its format and of __data_loc
	// fields count from its start. Up to 7 undefined bytes follow it.
	Raw []byte
}
