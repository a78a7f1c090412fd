package uevents_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/uevents"
)

// TestLockedDown runs where the machine was booted with lockdown=confidentiality: make
// vm-lockdown.
func TestLockedDown(t *testing.T) {
	state, err := os.ReadFile("/sys/kernel/security/lockdown")
	if err != nil || !strings.Contains(string(state), "[confidentiality]") {
		t.Skip("not on this kernel: it is not locked down")
	}
	p, err := uevents.Open(nil)
	require.ErrorIs(t, err, uevents.ErrNotSupported)
	assert.ErrorContains(t, err, "locked down (confidentiality)")
	assert.ErrorContains(t, err, "lockdown=integrity", "what to do")
	ev, err := p.Register(declare(t, "locked_down u8 a"), nil)
	require.ErrorIs(t, err, uevents.ErrNotSupported)
	assert.False(t, ev.Enabled())
	assert.Contains(t, uevents.Probe(nil).String(), "confidentiality")
	require.NoError(t, p.Close())
}
