// Package uevents publishes events of a Go program as Linux user_events tracepoints, which uevents, perf, ftrace, trace-cmd and the tools built on them
// read like the kernel's own.
//
// A program opens a [Provider], registers its events, and checks whether an event is enabled before it makes a record:
//
//	p, err := uevents.Open(nil)
//	ev, err := p.Register(decl, nil)
//	...
//	if ev.Enabled() {
//		rec := make([]byte, uevents.IndexSize, 64) // reserved for the write index
//		rec = append(rec, payload...)
//		_, err := ev.WriteRecord(rec)
//	}
//
// [Event.Enabled] inlines to one load and one branch. The kernel changes the enable word that it loads when a tracing tool attaches; the program is
// neither restarted nor configured. [Event.WriteRecord] is one system call.
//
// Where the kernel has no user_events or refuses them, events are in shared memory, on 64-bit Linux, macOS and BSDs: see [Options]. Then a record is a
// copy, without a system call.
//
// All programs of a machine share one namespace of events. [Naming] is the policy for a name that is taken by an event with other fields.
//
// # Records
//
// A record given to [Event.WriteRecord] is [IndexSize] reserved bytes and the payload: the fields in the order of the declaration, without padding, in
// the byte order of the machine. This package handles bytes, not values. Package encode/typed makes payloads from structs; packages structevent,
// sloghandler and the exporters do all of it.
//
// A field __data_loc char[], the text that every tracing tool reads, is a 32-bit location word between the other fields, size<<16 | offset. The
// text stands behind the last field and ends in a NUL, which size counts. The offset counts in bytes from [tracepoint.CommonSize] bytes before the
// payload. An empty text is a word of size 1 with the offset of a zero byte, and not the word 0: the kernel would look for its NUL before
// the payload, and refuse the record with EFAULT unless a zero byte happens to be there.
//
// # Zero values and errors
//
// In all packages of this library, nil options and the zero value of options mean defaults, and a nil [Provider] registers nothing. Events, handlers and
// exporters come from constructors, which never return nil: with an error they return a value whose events are disabled as far as they could not be
// registered. A nil or zero [Event] is not usable, since a check for it would be a second branch in Enabled.
//
// [Probe] reports kernel support and permissions. About support there is one contract:
//
//   - nil: user events work.
//   - errors.Is(err, [ErrNotSupported]): they conclusively do not, here, whatever errno it also wraps.
//   - errors.Is(err, [fs.ErrPermission]): they may, but not for this process.
//   - anything else: it could not be told.
//
// Errors of the kernel are [*Error] and unwrap to its errno.
//
// # Kernels and threads
//
// All three generations of the kernel's interface are supported, found by asking the kernel and never by its version. Since Linux 6.4, a program needs
// write permission on one file, user_events_data, before also read permission on user_events_status.
//
// Since Linux 6.4 the kernel ties an enable bit to the thread that registered it, and forgets it when that thread exits. Go programs do not
// know on which thread they run, so the package keeps one thread for registrations, from the first one until the program ends.
package uevents
