package abi

import (
	"bytes"
	"runtime"
	"sync"
)

// registrar is the one thread that registers and unregisters. The kernel ties an enable bit
// to the thread that registered it: on any other thread UNREG fails with ENOENT, and when
// the thread exits the bit never changes again.
var registrar struct {
	starting sync.Mutex
	work     chan func() // nil until it has started
}

// onOneThread runs registrations. The tests of this package, which show what the kernel does to threads, run them on their own.
var onOneThread = onRegistrar

// onRegistrar runs f on the registrar's thread and returns when it is done. A mutex tells so: a channel would
// belong to the caller's bubble of testing/synctest, and closing it from outside ends the program.
func onRegistrar(f func()) {
	registrar.starting.Lock()
	if registrar.work == nil {
		outsideBubbles(startRegistrar)
	}
	registrar.starting.Unlock()
	var done sync.Mutex
	done.Lock()
	registrar.work <- func() {
		defer done.Unlock()
		f()
	}
	done.Lock()
}

func startRegistrar() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread() // never unlocked: the thread lives as long as the program
		for f := range work {
			f()
		}
	}()
	registrar.work = work
}

// outsideBubbles calls f where it may start a goroutine that outlives a bubble of testing/synctest. Cleanups
// run outside of all bubbles.
func outsideBubbles(f func()) {
	if !inBubble() {
		f()
		return
	}
	var done sync.Mutex
	done.Lock()
	runtime.AddCleanup(new([64]byte), func(f func()) {
		defer done.Unlock()
		f()
	}, f)
	for !done.TryLock() {
		runtime.GC()
	}
}

// inBubble reports whether the goroutine is in a bubble, which nothing but a stack trace tells.
func inBubble() bool {
	var header [256]byte // "goroutine 7 [running, locked to thread, synctest bubble 5]:", longer with GOTRACEBACK=system
	return bytes.Contains(header[:runtime.Stack(header[:], false)], []byte("synctest bubble"))
}
