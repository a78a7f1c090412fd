package uevents

import (
	"runtime"
	"sync"
)

// registrar is the one thread that registers and unregisters. The kernel ties an enable bit
// to the thread that registered it: on any other thread UNREG fails with ENOENT, and when
// the thread exits the bit never changes again.
var registrar struct {
	once sync.Once
	work chan func()
}

// onRegistrar runs f on the registrar's thread and returns when it is done.
func onRegistrar(f func()) {
	registrar.once.Do(func() {
		registrar.work = make(chan func())
		go func() {
			runtime.LockOSThread() // never unlocked: the thread lives as long as the program
			for f := range registrar.work {
				f()
			}
		}()
	})
	done := make(chan struct{})
	registrar.work <- func() {
		defer close(done)
		f()
	}
	<-done
}
