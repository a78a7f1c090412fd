package reader

import (
	"math"
	"time"
)

// The layouts of spans and of their parts.
var (
	spanStart = &layout{
		kind:    KindSpanStart,
		numbers: []string{"start_time_unix_nano", "kind"},
		texts:   []string{"trace_id", "span_id", "parent_span_id", "name"},
		fields:  with(spanFields(map[string]setter{}), origin...),
		finish:  finishOtel,
	}
	spanEnd = &layout{
		kind:    KindSpan,
		numbers: []string{"start_time_unix_nano", "duration_ns"},
		texts:   []string{"trace_id", "span_id", "parent_span_id", "name"},
		fields: with(spanFields(map[string]setter{
			"duration_ns":    number64(func(ev *Event, n uint64) { ev.Duration = time.Duration(min(n, math.MaxInt64)) }),
			"status_code":    upTo(uint64(StatusError), func(ev *Event, n uint64) { ev.Status = Status(n) }),
			"status_message": words(func(ev *Event, s string) { ev.StatusMessage = s }),
			"events":         number64(func(ev *Event, n uint64) { ev.EventCount = count(n) }),
			"links":          number64(func(ev *Event, n uint64) { ev.LinkCount = count(n) }),
		}), append(origin, "dropped_attributes_count")...),
		finish: finishOtel,
	}
	spanEvent = &layout{
		kind:    KindSpanEvent,
		numbers: []string{"time_unix_nano", "dropped_attributes_count"},
		texts:   []string{"trace_id", "span_id", "name", "attributes"},
		fields:  with(map[string]setter{}, append(origin, "time_unix_nano", "trace_id", "span_id", "dropped_attributes_count", "name")...),
		finish:  finishOtel,
	}
	spanLink = &layout{
		kind:  KindSpanLink,
		texts: []string{"trace_id", "span_id", "linked_trace_id", "linked_span_id"},
		fields: with(map[string]setter{
			"linked_trace_id": id(func(ev *Event) []byte { return ev.LinkedTraceID[:] }),
			"linked_span_id":  id(func(ev *Event) []byte { return ev.LinkedSpanID[:] }),
		}, append(origin, "trace_id", "span_id", "trace_flags", "dropped_attributes_count")...),
		finish: finishOtel,
	}
)

// spanFields adds the fields that a span has from its start on.
func spanFields(own map[string]setter) map[string]setter {
	own["start_time_unix_nano"] = commonFields["time_unix_nano"]
	own["parent_span_id"] = id(func(ev *Event) []byte { return ev.ParentSpanID[:] })
	own["parent_is_remote"] = number64(func(ev *Event, n uint64) { ev.ParentRemote = n != 0 })
	own["kind"] = upTo(uint64(SpanKindConsumer), func(ev *Event, n uint64) { ev.SpanKind = SpanKind(n) })
	return with(own, "trace_id", "span_id", "trace_flags", "name")
}
