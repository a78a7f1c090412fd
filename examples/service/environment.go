package main

import (
	"errors"
	"os"
	"strings"

	"github.com/userevents/userevents-go/encode/typed"
)

// settings are what follows from the environment.
type settings struct {
	name        string // with which the names of events begin
	eventsAlone bool   // spans go to no exporter but user_events
}

// endpoints are the variables that name a backend for OTLP.
var endpoints = []string{
	"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
}

// settingsFromEnv sets the variables that the environment leaves unset. OpenTelemetry's default is OTLP to this machine,
// which reports an error for each export where no Collector listens. So here the default is OTLP if the environment names an
// endpoint. Events are the default in either case. Log records are not: those of package sloghandler are events already.
func settingsFromEnv() (settings, error) {
	withEvents, logs := "user_events", "none"
	for _, variable := range endpoints {
		if os.Getenv(variable) != "" {
			withEvents, logs = "otlp,user_events", "otlp"
		}
	}
	var errs []error
	for _, d := range [][2]string{
		{"OTEL_SERVICE_NAME", "service"},
		{"OTEL_TRACES_EXPORTER", withEvents},
		{"OTEL_METRICS_EXPORTER", withEvents},
		{"OTEL_LOGS_EXPORTER", logs},
		{"OTEL_GO_X_OBSERVABILITY", "true"}, // publishes the Stats of the exporters, and those of the SDK
	} {
		if strings.TrimSpace(os.Getenv(d[0])) == "" {
			errs = append(errs, os.Setenv(d[0], d[1]))
		}
	}
	return settings{
		name:        typed.FieldName(strings.TrimSpace(os.Getenv("OTEL_SERVICE_NAME"))), // as the SDK reads it
		eventsAlone: strings.TrimSpace(os.Getenv("OTEL_TRACES_EXPORTER")) == "user_events",
	}, errors.Join(errs...)
}
