//go:build !linux

package benchmarks

import (
	"io"
	"testing"
	"time"

	"github.com/userevents/userevents-go/uevents"
)

func serveEvent(string, io.Reader, io.Writer) error { return unavailable() }

func unavailable() error { return uevents.ErrNotSupported }

var started = time.Now()

// cpuTime returns the time that has passed in place of the processor time.
func cpuTime(int) (time.Duration, error) { return time.Since(started), nil }

func ownContenders() []contender { return nil }

func ownRequests(*testing.B) {}

func ownSpanContenders() []spanContender { return nil }

func ownMetricContenders() []metricContender { return nil }
