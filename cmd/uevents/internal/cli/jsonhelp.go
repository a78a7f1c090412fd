package cli

import "github.com/spf13/cobra"

// newJSONTopic returns the help topic on the JSON objects of -o json.
func newJSONTopic() *cobra.Command {
	return &cobra.Command{
		Use:   "json",
		Short: "The JSON objects of watch, record and replay",
		Long: `With -o json, each record is one JSON object on one line. Members that a record does not
have are left out. Later versions may add members; none changes its meaning.

  time, timestamp, observed      when the kernel took the record, and what the program says: texts of RFC 3339 in UTC,
                                 always with nine digits of the second, so that they sort by time
  monotonic_ns                   CLOCK_MONOTONIC of the kernel, which orders records
  system, event                  the tracepoint
  kind                           log, span, span start, span event, span link, metric, other, or lost: see below
  severity, severity_number      OpenTelemetry's name and number, such as INFO and 9
  severity_text                  the program's own name for it
  message                        the text of a log record, the name of a span or a metric; declared records have none
  body                           of a log record, if it is not a text
  event_name                     of a log record, or of an EventHeader event; of a declared record its event
  program, exe, pid, tid, cpu    what wrote the record, as it was then
  cgroup, cgroup_id              the path in the cgroup file system, and the inode number of the directory
  unit                           the systemd unit, the innermost one: of a user's service the user's
  container_id, pod_uid          of docker, containerd, CRI-O and podman, and of Kubernetes
  process_service                the service.name that the process publishes as OpenTelemetry's process context
  trace_id, span_id,             lower-case hexadecimal digits
    parent_span_id, trace_flags, trace_state, parent_remote
  linked_trace_id,               where a span link leads to
    linked_span_id
  span_kind, status,             of a span
    status_message, duration_ns, event_count, link_count, events, links
  metric                         an object: type, unit, temporality, value, count, sum, bounds, bucket_counts, ...
  service, resource              of OpenTelemetry's resource
  scope, scope_version,          of OpenTelemetry's instrumentation scope
    scope_schema_url, scope_attributes
  truncated                      how many values the program cut or dropped because the record was too long
  dropped_attributes,            what the program's OpenTelemetry SDK dropped
    dropped_events, dropped_links
  duplicate                      true if the record was also written to the event of its declaration
  undecodable                    the bytes of a record that does not fit the format of its event: it has no fields
  header                         of an EventHeader event: an object
  callchain, stack               with --stack: addresses, and the functions that they are in, innermost first
  fields                         an object: everything else; the second field of one name is NAME_2, and so on

Integers have all their digits, up to 64 bits. Bytes are base64. NaN and the infinities are texts.
Control characters and those that change the direction of text are escaped; bytes that
are not UTF-8 are characters from U+EF80 to U+EFFF.

An object of the kind lost says that the kernel lost count records of an event.`,
	}
}
