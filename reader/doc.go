// Package reader decodes what programs write to Linux tracepoints, user_events above all. A record of any program, in any
// language and either encoding, becomes one [Event] with time, kind, severity, message, ids and fields.
package reader
