// Package ueventstest simulates the Linux kernel's user_events inside the process, on any
// operating system: for tests and examples of programs that publish events, and for
// machines whose kernel does not support them.
//
// A [Kernel] is a simulated kernel. [Kernel.Provider] returns a [uevents.Provider]
// connected to it, which a program cannot tell from a real one, and [Kernel.Attach] does
// what an operator does with perf or trace-cmd:
//
//	k := ueventstest.New(t, nil)
//	p := k.Provider()
//	defer p.Close()
//	... // hand p to the code under test, which registers its events
//	tool, err := k.Attach(ueventstest.Ftrace, "myapp_*")
//	... // make the code under test log
//	for _, r := range tool.Records() {
//		... // r.Payload: decode it with typed.NewDecoder(r.Declaration, nil)
//	}
//
// # Timers
//
// All of it works in a bubble of [testing/synctest], where timers take no time. A program that logs "alive" once a minute:
//
//	synctest.Test(t, func(t *testing.T) {
//		k := ueventstest.New(t, nil)
//		p := k.Provider()
//		defer p.Close()
//		h, err := sloghandler.New("myapp", &sloghandler.Options{Provider: p})
//		require.NoError(t, err)
//		tool, err := k.Attach(ueventstest.Ftrace, "myapp_info")
//		require.NoError(t, err)
//		ctx, stop := context.WithTimeout(t.Context(), time.Hour+time.Second)
//		defer stop()
//		heartbeat(ctx, slog.New(h)) // an hour passes at once
//		assert.Len(t, tool.Records(), 60)
//	})
//
// # Rules
//
// The rules are those of kernel/trace/trace_events_user.c in Linux 6.12 for
// [uevents.ABIEnableAddress], and in Linux 6.1 for the two status generations: errors, the
// lifetime of events, the checks of a write and their order, and the records that a tool loses without an error.
//
// # Differences from a real kernel
//
//   - An event that is no longer held disappears at once. The kernel takes a moment, in which the event can still be listed and registered
//     again, and deleting it fails with EBUSY.
//   - It accepts and compares declarations as package tracepoint does, which is stricter than the kernel.
//   - It knows no flags of registrations, as Linux 6.4 to 6.6: no event is persistent or has several formats.
//   - There is one process without threads: a bit may be registered and unregistered on any goroutine. Fork and exec have no counterpart.
//   - Memory is always writable. Only a registration without a word fails, with ENOMEM.
//   - A tool has one buffer for all processors, and no filters or triggers. Its size counts payloads and 24 bytes for each record; records
//     have no padding and no common fields.
//   - Listings are in the order of registration; format files count event ids from 1 and have no print format, and no length of arrays.
//   - The status page has 4,096 bytes on machines with larger pages, too.
//   - A text field that ends before the payload (a __data_loc whose offset is that of a common field) is refused with EFAULT. The kernel looks at
//     bytes there that it does not define.
package ueventstest
