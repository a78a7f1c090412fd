package ueventstest_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// TestProvider drives the public packages together, as a user's test does.
func TestProvider(t *testing.T) {
	for _, abi := range []uevents.ABI{uevents.ABIStatusByte, uevents.ABIStatusBit, uevents.ABIEnableAddress} {
		t.Run(abi.String(), func(t *testing.T) {
			k := ueventstest.New(t, &ueventstest.Options{ABI: abi})
			p := k.Provider()
			defer func() { assert.NoError(t, p.Close()) }()
			assert.Equal(t, abi, p.ABI())
			d, err := tracepoint.Parse("myapp_info u32 level; __rel_loc char[] message")
			require.NoError(t, err)
			event, err := p.Register(d, nil)
			require.NoError(t, err)
			assert.False(t, event.Enabled())

			tool, err := k.Attach(ueventstest.Ftrace, "user_events:myapp_info")
			require.NoError(t, err)
			assert.True(t, event.Enabled())

			buf := make([]byte, uevents.IndexSize)
			buf = binary.NativeEndian.AppendUint32(buf, 9)
			buf = binary.NativeEndian.AppendUint32(buf, 6<<16)
			buf = append(buf, "hello\x00"...)
			_, err = event.WriteRecord(buf)
			require.NoError(t, err)
			r, err := tool.Next(t.Context())
			require.NoError(t, err)
			assert.True(t, bytes.HasSuffix(r.Payload, []byte("hello\x00")))
			assert.True(t, d.Equal(r.Declaration))

			tool.Detach()
			assert.False(t, event.Enabled())
			written, err := event.WriteRecord(buf)
			assert.NoError(t, err)
			assert.False(t, written)
			require.NoError(t, p.Close())
			_, err = event.WriteRecord(buf)
			assert.ErrorIs(t, err, uevents.ErrClosed)
		})
	}
}

// TestProvidersAreIndependent has that closing one program's provider leaves another's
// alone.
func TestProvidersAreIndependent(t *testing.T) {
	k := ueventstest.New(t, nil)
	d := tracepoint.Declaration{Name: "shared"}
	a, b := k.Provider(), k.Provider()
	first, err := a.Register(d, nil)
	require.NoError(t, err)
	second, err := b.Register(d, nil)
	require.NoError(t, err)
	_, err = k.Attach(ueventstest.Perf, "shared")
	require.NoError(t, err)
	assert.True(t, first.Enabled() && second.Enabled())
	require.NoError(t, a.Close())
	assert.False(t, first.Enabled())
	assert.True(t, second.Enabled())
	require.NoError(t, b.Close())
}
