// Package perfaccess says why the kernel refuses perf_event_open(2) for the events of all processes, and what to do about it.
package perfaccess
