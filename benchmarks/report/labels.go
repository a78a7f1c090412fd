package main

import (
	"fmt"
	"strings"
)

// labels are the names of the contenders on the page. Those of this project are bold.
var labels = map[string]string{
	"slog-discard":            "`slog.DiscardHandler`",
	"slog-json":               "`slog.JSONHandler`",
	"slog-text":               "`slog.TextHandler`",
	"zap":                     "zap",
	"zerolog":                 "zerolog",
	"phuslu":                  "phuslu/log",
	"otelslog-stdoutlog":      "otelslog, stdoutlog",
	"otelslog-otlp":           "otelslog, OTLP over HTTP",
	"sloghandler":             "**`sloghandler`**",
	"sloghandler-declared":    "**`sloghandler`, declared record**",
	"sloghandler-direct":      "**`sloghandler`, declared record logged directly**",
	"sloghandler-eventheader": "**`sloghandler`, EventHeader**",
	"structevent":             "**`structevent`**",
	"otelslog-ueventslog":     "**otelslog, `ueventslog`**",
	"noop":                    "OpenTelemetry's no-op provider",
	"never-sample":            "the SDK with NeverSample",
	"no-processor":            "the SDK without a processor",
	"discard-exporter":        "the SDK with a synchronous exporter that does nothing",
	"stdouttrace":             "stdouttrace",
	"otlp":                    "OTLP over HTTP",
	"ueventstrace":            "**`ueventstrace`**",
	"ueventstrace-sampler":    "**`ueventstrace`'s sampler in front of the SDK**",
	"function":                "uprobe on a function's entry",
	"arguments":               "uprobe on a function's entry, reading the five values from registers",
	"nop":                     "uprobe on a nop",
	"semaphore":               "uprobe on a nop behind a semaphore (`ref_ctr_offset`)",
}

func label(contender string) (string, error) {
	l, ok := labels[contender]
	if !ok {
		return "", fmt.Errorf("no label for the contender %s", contender)
	}
	return l, nil
}

// own reports whether a contender is this project's.
func own(contender string) bool { return strings.HasPrefix(labels[contender], "**") }

// plain returns a label without Markdown.
func plain(contender string) string {
	return strings.NewReplacer("*", "", "`", "").Replace(labels[contender])
}
