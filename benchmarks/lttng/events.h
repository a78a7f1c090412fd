// The events of program.c: 300 bytes that LTTng-UST does not look into, and the five attributes of the record of all benchmarks.
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER bench
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./events.h"
#if !defined(EVENTS_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define EVENTS_H
#include <lttng/tracepoint.h>
#include <stddef.h>
#include <stdint.h>
#define BYTES LTTNG_UST_TP_ARGS(const uint8_t *, bytes, size_t, n)
LTTNG_UST_TRACEPOINT_EVENT_CLASS(bench, bytes, BYTES,
  LTTNG_UST_TP_FIELDS(lttng_ust_field_sequence(uint8_t, data, bytes, size_t, n)))
LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(bench, bytes, bench, opaque, BYTES)
LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(bench, bytes, bench, two, BYTES)
LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(bench, bytes, bench, full, BYTES)
LTTNG_UST_TRACEPOINT_EVENT(bench, five,
  LTTNG_UST_TP_ARGS(const char *, method, const char *, route, uint16_t, status, int64_t, latency, uint8_t, cached),
  LTTNG_UST_TP_FIELDS(
    lttng_ust_field_string(method, method)
    lttng_ust_field_string(route, route)
    lttng_ust_field_integer(uint16_t, status, status)
    lttng_ust_field_integer(int64_t, latency_ns, latency)
    lttng_ust_field_integer(uint8_t, cached, cached)))
#endif
#include <lttng/tracepoint-event.h>
