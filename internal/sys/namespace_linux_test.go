package sys

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestInitialNamespace: tests run in the first namespaces of their machine, unless that is a container.
func TestInitialNamespace(t *testing.T) {
	for kind, link := range map[string]string{"cgroup": "cgroup:[4026531835]", "pid": "pid:[4026531836]", "user": "user:[4026531837]", "uts": "uts:[4026531838]"} {
		is, err := os.Readlink("/proc/self/ns/" + kind)
		require.NoError(t, err)
		assert.Equal(t, is == link, InitialNamespace(kind))
	}
	assert.True(t, InitialNamespace("nosuch"))
}
