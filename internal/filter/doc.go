// Package filter evaluates trace event filters in the syntax of the kernel (Documentation/trace/events.rst), with the
// kernel's results, on records that the kernel has not seen:
//
//	tree, err := filter.Parse(`status >= 500 && route ~ "/users/*"`)
//	f, err := tree.Bind(format)
//	f.Match(&filter.Record{Raw: raw})
//
// [Parse] reads the text without an event, [Tree.Bind] looks up the fields of one event, and [Filter.Match] reads the
// bytes of a record.
//
// The rules are those of kernel/trace/trace_events_filter.c (parse_pred, predicate_parse, regex_match_full and its
// neighbours), lib/glob.c and lib/kstrtox.c. These surprise:
//
//   - A number that does not fit the field loses its upper bits: for a u8, 256 is 0. Its sign has to fit: a u8 is not
//     compared with -1.
//   - The location word of an array that is no text, and a struct of 1, 2, 4 or 8 bytes, are signed numbers. Comparisons with a
//     struct of another size are accepted, and false.
//   - The patterns "*text" and "*text*" see what follows a NUL. The first one compares with what precedes the last byte of
//     the field, so that it matches no shorter text in a fixed array.
//   - A pattern that begins with a digit has no wildcards. One that begins with ! is negated.
//   - Text of size 0 ends at the next NUL of the record.
//   - CPU, cpu, common_cpu, COMM and comm are those of the thread that wrote the record, unless the event has a field of that
//     name. CPU & 1 is false.
//
// The differences from the kernel:
//
//   - FIELD.function and CPUS{...}, which newer kernels know, are refused: they mean the kernel's functions and processors.
//   - Text can be compared, as on Linux 6.4 and later. Before, the kernel took it for numbers.
//   - A filter has at most 4,095 bytes; the kernel's limit is a page.
//   - No filter matches a record that lacks a part of its fixed fields, and text ends with the record at the latest. The kernel
//     refuses such records, but for text of size 0 at the end of a record: there it compares what its buffer has behind it.
package filter
