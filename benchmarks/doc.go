// Package benchmarks measures the cost of log calls and spans: with this project, with other
// loggers for Go, with OpenTelemetry, with uprobes, with LTTng-UST, and of the operations that all of them need.
// All contenders write the same records; tests check that they do.
//
// In a guest under -icount the figures are instructions, the kernel's included:
//
//	make vm-bench
//
// On any machine they are nanoseconds. Benchmarks that need user_events do not run where the kernel has
// none:
//
//	cd benchmarks && go test -bench .
//
// Shared memory and LTTng-UST are measured in turns, with Debian's daemons in namespaces of their own:
//
//	make bench-memory
//
// Command compare keeps the figures of a run in results, or compares them with the kept ones. Command report
// generates docs/benchmarks.md, and the tables of figures in other documents, from results.
package benchmarks
