package main

import (
	"fmt"
	"io"
	"log/slog"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// inProcess serves three requests: with no event, one event and all events enabled.
func inProcess(w io.Writer) error {
	kernel := ueventstest.NewKernel(nil)
	defer kernel.Close()
	p := kernel.Provider()
	defer p.Close()
	handler, err := sloghandler.New("quickstart", &sloghandler.Options{Provider: p})
	if err != nil {
		return err
	}
	defer handler.Close()
	log := slog.New(handler)

	fmt.Fprintln(w, "The same records with a simulated kernel, inside this process:")
	for i, events := range []string{"", "quickstart_error", "quickstart_*"} {
		if events == "" {
			fmt.Fprintln(w, "\nNo tool is attached, and nothing is recorded:")
			serve(log, 3)
			continue
		}
		tracer, err := kernel.Attach(ueventstest.Ftrace, events)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "\nA tool is attached to %s and prints:\n", events)
		serve(log, 3*i)
		tracer.Detach()
		if err := print(w, tracer.Records()); err != nil {
			return err
		}
	}
	return nil
}

// print prints records as perf script prints them.
func print(w io.Writer, records []ueventstest.Record) error {
	for _, r := range records {
		decoder, err := typed.NewDecoder(r.Declaration, nil)
		if err != nil {
			return err
		}
		record, err := decoder.Decode(r.Payload)
		if err != nil {
			return err
		}
		fmt.Fprintln(w, " ", record)
	}
	return nil
}
