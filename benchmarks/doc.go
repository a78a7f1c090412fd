// Package benchmarks compares what a log call and a span cost: with this project, with the
// loggers that Go programs use, with OpenTelemetry, with uprobes, and with the floors below all
// of them. Everybody writes the same records; tests check that everybody does.
//
// In a guest under -icount the figures count instructions, the kernel's included:
//
//	make vm-bench
//
// On any machine they are nanoseconds; what needs user_events is left out where the kernel has
// none:
//
//	cd benchmarks && go test -bench .
//
// In the folders below, command compare keeps a run in results or holds it against the one
// that is kept, and command report makes docs/benchmarks.md of them.
package benchmarks
