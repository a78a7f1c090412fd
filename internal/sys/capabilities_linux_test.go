package sys

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestHasCapability compares with what /proc says of this thread.
func TestHasCapability(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	b, err := os.ReadFile("/proc/thread-self/status")
	require.NoError(t, err)
	_, after, ok := strings.Cut(string(b), "CapEff:\t")
	require.True(t, ok)
	effective, err := strconv.ParseUint(after[:16], 16, 64)
	require.NoError(t, err)
	for capability := range unix.CAP_LAST_CAP + 1 {
		has, err := HasCapability(capability)
		require.NoError(t, err)
		assert.Equal(t, effective&(1<<capability) != 0, has, "%d", capability)
	}
	// Without them, on a thread that ends.
	done := make(chan bool)
	go func() {
		defer close(done)
		runtime.LockOSThread()
		hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var none [2]unix.CapUserData
		assert.NoError(t, unix.Capset(&hdr, &none[0]))
		for _, capability := range []int{CapPerfmon, CapSysAdmin} {
			has, err := HasCapability(capability)
			assert.NoError(t, err)
			assert.False(t, has)
		}
		_, err := keepPerfmonAndOpen()
		assert.ErrorIs(t, err, unix.EPERM, "it is not permitted the capability")
	}()
	<-done
}
