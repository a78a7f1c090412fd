package uevents_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/userevents/userevents-go/uevents"
)

func TestReportString(t *testing.T) {
	findings := []uevents.Finding{{What: "tracefs", Result: "not mounted", Remedy: "mount it"}, {What: "kernel", Result: "6.12"}}
	r := &uevents.Report{Transport: uevents.TransportKernel, ABI: uevents.ABIStatusBit, DataFile: "/data", Findings: findings}
	assert.Equal(t, "events: kernel (status bit, /data)\n  tracefs:       not mounted\n                 -> mount it\n  kernel:        6.12\n", r.String())
	r = &uevents.Report{Transport: uevents.TransportOff, Err: uevents.ErrNotSupported}
	assert.Equal(t, "events: user_events are not supported\n", r.String())
}
