package main

import (
	"testing"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/uevents/tracefs"
)

func requireKernel(t *testing.T) *tracefs.Dir { return kerneltest.Require(t) }

func traceText(t *testing.T, fs *tracefs.Dir) string {
	text, _ := kerneltest.TraceText(t, fs)
	return text
}
