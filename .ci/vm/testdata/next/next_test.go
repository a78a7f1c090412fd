// Package next is what the runner's own tests run after package guest: it finds nothing that guest has left behind.
package next

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
)

func TestNext(t *testing.T) {
	kerneltest.Require(t)
	events, err := os.ReadFile("/sys/kernel/tracing/dynamic_events")
	require.NoError(t, err)
	assert.Empty(t, string(events))
	instances, err := os.ReadDir("/sys/kernel/tracing/instances")
	require.NoError(t, err)
	assert.Empty(t, instances)
	commands, err := filepath.Glob("/proc/[0-9]*/comm")
	require.NoError(t, err)
	for _, file := range commands {
		name, _ := os.ReadFile(file) // a kernel thread may have ended
		assert.NotEqual(t, "sleep\n", string(name))
	}
}
