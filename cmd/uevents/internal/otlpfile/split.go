package otlpfile

import (
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// half returns which of n records at position at belong to the first (0) or second half (1) of total records.
func half(h, at, n, total int) (from, to int) {
	middle := min(max(total/2-at, 0), n)
	if h == 0 {
		return 0, middle
	}
	return middle, n
}

// splitLogs splits log records in two halves. It returns nil if there is only one record.
func splitLogs(data plog.Logs) []plog.Logs {
	total, at := data.LogRecordCount(), 0
	if total < 2 {
		return nil
	}
	parts := []plog.Logs{plog.NewLogs(), plog.NewLogs()}
	for _, r := range data.ResourceLogs().All() {
		for _, s := range r.ScopeLogs().All() {
			for h, part := range parts {
				from, to := half(h, at, s.LogRecords().Len(), total)
				if from == to {
					continue
				}
				group := part.ResourceLogs().AppendEmpty()
				r.Resource().CopyTo(group.Resource())
				group.SetSchemaUrl(r.SchemaUrl())
				scope := group.ScopeLogs().AppendEmpty()
				s.Scope().CopyTo(scope.Scope())
				scope.SetSchemaUrl(s.SchemaUrl())
				for i := from; i < to; i++ {
					s.LogRecords().At(i).CopyTo(scope.LogRecords().AppendEmpty())
				}
			}
			at += s.LogRecords().Len()
		}
	}
	return parts
}

// splitTraces splits spans in two halves. It returns nil if there is only one span.
func splitTraces(data ptrace.Traces) []ptrace.Traces {
	total, at := data.SpanCount(), 0
	if total < 2 {
		return nil
	}
	parts := []ptrace.Traces{ptrace.NewTraces(), ptrace.NewTraces()}
	for _, r := range data.ResourceSpans().All() {
		for _, s := range r.ScopeSpans().All() {
			for h, part := range parts {
				from, to := half(h, at, s.Spans().Len(), total)
				if from == to {
					continue
				}
				group := part.ResourceSpans().AppendEmpty()
				r.Resource().CopyTo(group.Resource())
				group.SetSchemaUrl(r.SchemaUrl())
				scope := group.ScopeSpans().AppendEmpty()
				s.Scope().CopyTo(scope.Scope())
				scope.SetSchemaUrl(s.SchemaUrl())
				for i := from; i < to; i++ {
					s.Spans().At(i).CopyTo(scope.Spans().AppendEmpty())
				}
			}
			at += s.Spans().Len()
		}
	}
	return parts
}

// splitMetrics splits metrics in two halves. It returns nil if there is only one metric, whose points stay together.
func splitMetrics(data pmetric.Metrics) []pmetric.Metrics {
	total, at := data.MetricCount(), 0
	if total < 2 {
		return nil
	}
	parts := []pmetric.Metrics{pmetric.NewMetrics(), pmetric.NewMetrics()}
	for _, r := range data.ResourceMetrics().All() {
		for _, s := range r.ScopeMetrics().All() {
			for h, part := range parts {
				from, to := half(h, at, s.Metrics().Len(), total)
				if from == to {
					continue
				}
				group := part.ResourceMetrics().AppendEmpty()
				r.Resource().CopyTo(group.Resource())
				group.SetSchemaUrl(r.SchemaUrl())
				scope := group.ScopeMetrics().AppendEmpty()
				s.Scope().CopyTo(scope.Scope())
				scope.SetSchemaUrl(s.SchemaUrl())
				for i := from; i < to; i++ {
					s.Metrics().At(i).CopyTo(scope.Metrics().AppendEmpty())
				}
			}
			at += s.Metrics().Len()
		}
	}
	return parts
}
