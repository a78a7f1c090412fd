//go:build !linux

package benchmarks

import (
	"io"
	"testing"

	"github.com/userevents/userevents-go/uevents"
)

const childEnv = "USEREVENTS_BENCHMARK_CHILD"

func childMain(string, io.Reader, io.Writer) int { return 1 }

func unavailable() error { return uevents.ErrNotSupportedOnOS }

func ownContenders() []contender { return nil }

func ownRequests(*testing.B) {}
