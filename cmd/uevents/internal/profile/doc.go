// Package profile writes the stacks of events as a profile for go tool pprof, such as the call sites of errors or of
// slow requests. Its samples have the labels event, process and pid, and trace_id and span_id for the first 16,384 spans, each with a
// stack: go tool pprof -tags shows them, and -tagfocus selects by them.
package profile
