// Package reader reads the records that programs write to Linux tracepoints, above all to user_events, in the kernel and in shared memory, while
// they write them:
//
//	slow, err := where.Parse("level >= warn and not has(health_check)")
//	...
//	r, err := reader.Open(&reader.Options{Selection: reader.Selection{Events: []string{"myapp"}, Where: slow}})
//	...
//	defer r.Close()
//	for rec, err := range r.Events(ctx) { // until ctx is done
//		if err != nil { ... }
//		fmt.Println(rec.Time, rec.PID, rec.Severity, record.StringValue(rec.Message)) // safe to print
//	}
//
// [Reader.Select] replaces the [Selection] while the Reader runs. Package record decodes the records, and package where parses and evaluates
// conditions.
package reader
