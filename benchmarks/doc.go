// Package benchmarks compares what a log call costs: with this project, with the loggers that
// Go programs use, with uprobes, and with the floors below all of them. Everybody writes the
// same record of a message and five attributes; tests check that everybody does.
//
// In a guest under -icount the figures count instructions, the kernel's included:
//
//	make vm-bench DIR=benchmarks BENCHTIME=2000x RUN=-test.count=5
//
// On any machine they are nanoseconds; what needs user_events is left out where the kernel has
// none:
//
//	cd benchmarks && go test -bench .
//
// Command compare, in the folder below, holds a run against the committed one.
package benchmarks
