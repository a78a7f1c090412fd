// Package perfdata writes recordings that perf script and perf report read, and reads them back: perf.data files with
// the formats and tasks that decoding needs.
//
// A Writer writes what perf record -o - writes to a pipe, whose metadata is in records: it can be read as far as it was written. Close
// makes of it what perf record writes to a file, with the metadata in sections.
//
// The kernel's tools/perf/Documentation/perf.data-file-format.txt describes the file, include/uapi/linux/perf_event.h
// its records, and the manual page trace-cmd.dat.v6(5) the section of formats ("tracing data"). All numbers are in the
// byte order of the machine.
package perfdata
