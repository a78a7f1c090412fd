package main

import (
	"fmt"
	"strings"
)

// labels are the names of the contenders on the page. Those of this project are bold.
var labels = map[string]string{
	"slog-discard":                  "`slog.DiscardHandler`",
	"slog-json":                     "`slog.JSONHandler`",
	"zap":                           "zap",
	"zerolog":                       "zerolog",
	"phuslu":                        "phuslu/log",
	"otelslog-otlp":                 "otelslog, OTLP over HTTP",
	"otelslog-otlp-collector":       "otelslog, OTLP over HTTP, with the collector's part",
	"sloghandler":                   "**`sloghandler`**",
	"sloghandler-declared":          "**`sloghandler`, declared record**",
	"sloghandler-direct":            "**`sloghandler`, declared record logged directly**",
	"structevent":                   "**`structevent`**",
	"otelslog-ueventslog":           "**otelslog, `ueventslog.LoggerProvider`**",
	"otelslog-ueventslog-processor": "**otelslog, the SDK with `ueventslog.Processor`**",
	"noop":                          "OpenTelemetry's no-op provider",
	"never-sample":                  "the SDK with NeverSample",
	"no-processor":                  "the SDK without a processor",
	"otlp":                          "OTLP over HTTP",
	"otlp-collector":                "OTLP over HTTP, with the collector's part",
	"ueventstrace":                  "**`ueventstrace.TracerProvider`**",
	"ueventstrace-start":            "**`ueventstrace.TracerProvider`**",
	"ueventstrace-processor":        "**the SDK with `ueventstrace.Processor`**",
	"ueventstrace-sampler":          "**the SDK with `ueventstrace.Processor` and its sampler**",
	"ueventsmetric":                 "**`ueventsmetric`**",
	"ueventsmetric-otlp":            "**`ueventsmetric/otlp`**",
	"function":                      "function's entry",
	"arguments":                     "function's entry, reading five values from registers",
	"semaphore":                     "nop behind a semaphore (`ref_ctr_offset`)",
}

// omitted are measured contenders that are not on the page, of all groups or of one: they cost what another one does, or are not for production.
var omitted = map[string]bool{
	"slog-text":                   true,
	"otelslog-stdoutlog":          true,
	"noop-processor":              true,
	"stdouttrace":                 true,
	"stdoutmetric":                true,
	"Off/sloghandler-declared":    true,
	"SpanOn/ueventstrace-sampler": true,
	"Uprobe/nop":                  true,
}

// shown reports whether a contender of a group is on the page.
func shown(group, contender string) bool { return !omitted[contender] && !omitted[group+"/"+contender] }

// attached are the events to which ftrace is attached where a contender has several.
var attached = map[string]string{
	"SpanOn/ueventstrace":           "`_span`",
	"SpanOn/ueventstrace-start":     "`_span` and `_span_start`",
	"SpanOn/ueventstrace-processor": "`_span`",
}

// label returns the name of a contender in a group of benchmarks.
func label(group, contender string) (string, error) {
	l, ok := labels[contender]
	if !ok {
		return "", fmt.Errorf("no label for the contender %s", contender)
	}
	if events, ok := attached[group+"/"+contender]; ok {
		l += ", " + events
	}
	return l, nil
}

// own reports whether a contender is this project's.
func own(contender string) bool { return strings.HasPrefix(labels[contender], "**") }

// plain returns a label without Markdown.
func plain(contender string) string {
	return strings.NewReplacer("*", "", "`", "").Replace(labels[contender])
}
