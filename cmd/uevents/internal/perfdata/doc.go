// Package perfdata writes recordings that perf script and perf report read, and reads them back: perf.data files with
// the formats and tasks that decoding needs.
//
// The kernel's tools/perf/Documentation/perf.data-file-format.txt describes the file, include/uapi/linux/perf_event.h
// its records, and the manual page trace-cmd.dat.v6(5) the section of formats ("tracing data"). All numbers are in the
// byte order of the machine.
package perfdata
