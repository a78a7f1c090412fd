// Package perfdata writes recordings that perf script and perf report read, and reads them back: files in the
// format perf.data, with everything that decodes their records.
//
// The format is described in the kernel's tools/perf/Documentation/perf.data-file-format.txt, its records in
// include/uapi/linux/perf_event.h, and the section of formats ("tracing data") in the manual page
// trace-cmd.dat.v6(5). All numbers are in the byte order of the machine.
package perfdata
