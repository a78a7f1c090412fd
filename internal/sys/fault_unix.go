//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package sys

import "runtime/debug"

// Fault is the panic of an access to mapped memory that is not there: its file was cut off, or the disk is full.
type Fault interface {
	error
	Addr() uintptr
}

// Try calls a function, and returns the fault that ended it.
func Try(call func()) (f Fault) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		cause := recover()
		if cause == nil {
			return
		}
		var ok bool
		if f, ok = cause.(Fault); !ok {
			panic(cause)
		}
	}()
	call()
	return nil
}
