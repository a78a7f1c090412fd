// Package filter evaluates trace event filters in the syntax of the kernel (Documentation/trace/events.rst), with the
// kernel's results for the same records, for events that the kernel does not record:
//
//	tree, err := filter.Parse(`status >= 500 && route ~ "/users/*"`)
//	f, err := tree.Bind(format)
//	f.Match(&filter.Record{Raw: raw})
//
// [Parse] reads the text without knowing an event, [Tree.Bind] looks up the fields of one event and compiles the
// comparisons, and [Filter.Match] reads the bytes of a record.
//
// The rules are those of kernel/trace/trace_events_filter.c (parse_pred, predicate_parse, regex_match_full and the
// functions beside it) and lib/glob.c. Some surprise:
//
//   - A number that does not fit the field loses its upper bits: for a u8, 256 is 0.
//   - A location word that is not text, and a struct of 1, 2, 4 or 8 bytes, is a signed number. Comparisons with a field
//     of another size are accepted and false.
//   - Characters after the terminating NUL of an array count for ~ "*text*" and ~ "*text". The latter compares with
//     the text before the last byte of the field, so that it rarely matches an array.
//   - A pattern that begins with a digit has no wildcards; one that begins with ! is negated.
//   - Text of size 0 extends to the next NUL of the record.
//   - CPU, common_cpu and COMM are of the thread that wrote the record, unless the event has such a field. CPU & 1 is false.
//
// The differences are these. X.function (Linux 6.5) and CPUS{...} (Linux 6.7) are refused, as they mean addresses
// of the kernel and the number of its processors. Text before Linux 6.4 is a number for the kernel, so that it refuses
// every comparison of text. Filters may have 4,095 bytes, also where the kernel's page is larger. The kernel records
// nothing whose fixed part is not complete: no filter matches it. Text of a record that is not inside of the record,
// which the kernel refuses, too, has no bytes.
package filter
