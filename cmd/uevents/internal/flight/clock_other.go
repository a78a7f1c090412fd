//go:build !linux

package flight

// monotonic returns 0: only Linux has tracepoints, so that there is no Recorder.
func monotonic() uint64 { return 0 }
