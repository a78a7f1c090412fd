//go:build linux && !386 && !arm && !mips && !mipsle

package memory

import (
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/memory/attach"
	"github.com/userevents/userevents-go/internal/testscale"
)

// TestWordsStay: the enable words have one address for the life of the process, at which zeros are while there is no memory.
func TestWordsStay(t *testing.T) {
	p := openSubject(t)
	first := process().address
	for round := range testscale.Count(1000, 100) {
		a, err := attach.Open(os.Getpid())
		require.NoError(t, err)
		s, err := a.Attach(attach.Options{Patterns: []string{"ue_env"}, RingSize: 4096})
		require.NoError(t, err)
		require.True(t, p.enabled())
		p.close(t)
		require.False(t, p.enabled(), "round %d", round)
		require.NoError(t, errors.Join(s.Detach(), a.Close()))
		require.False(t, p.enabled(), "a tool of the past")

		p = openSubject(t)
		require.Same(t, first, process().address)
		require.False(t, p.enabled())
	}
	p.close(t)
	assert.Nil(t, process().files)
}
