//go:build !linux

package perfaccess

// Read returns the zero Process: other systems have no perf events.
func Read() Process { return Process{} }

// PerfmonSuffices reports true.
func (Process) PerfmonSuffices() bool { return true }
