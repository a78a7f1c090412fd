// Package profile writes the stacks of events as a profile for go tool pprof, such as the call sites of errors or of
// slow requests.
package profile
