package kerneltest

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/userevents/userevents-go/internal/testscale"
)

// recorder notes whether a test would be skipped.
type recorder struct {
	testing.TB
	skipped, counted bool
}

func (r *recorder) Helper()             {}
func (r *recorder) Attr(string, string) { r.counted = true }

func (r *recorder) Skip(...any) {
	r.skipped = true
	runtime.Goexit()
}

// TestGuest: on a machine that is no guest, tests run if that was asked for, and only with the
// value that says so.
func TestGuest(t *testing.T) {
	for _, c := range []struct {
		vm, host string
		run      bool
	}{
		{"", "", false},
		{"1", "", true},
		{"", "1", true},
		{"", "0", false},
	} {
		t.Setenv(testscale.EnvVM, c.vm)
		t.Setenv(EnvHostTests, c.host)
		r, done := &recorder{TB: t}, make(chan struct{})
		go func() {
			defer close(done)
			Guest(r)
		}()
		<-done
		assert.Equal(t, !c.run, r.skipped, "%+v", c)
		assert.Equal(t, c.run, r.counted, "%+v", c)
	}
}
