//go:build !linux

package uevents_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/uevents"
)

func TestOtherSystems(t *testing.T) {
	kernel := &uevents.Options{Transport: uevents.TransportKernel}
	p, err := uevents.Open(kernel)
	require.ErrorIs(t, err, uevents.ErrNotSupported)
	ev, err := p.Register(declare(t, "some_event u8 a"), nil)
	require.ErrorIs(t, err, uevents.ErrNotSupported)
	assert.False(t, ev.Enabled())
	assert.ErrorIs(t, uevents.Probe(kernel).Err, uevents.ErrNotSupported)
	assert.NoError(t, p.Close())
}
