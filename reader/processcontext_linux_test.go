package reader

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
)

// TestProcessContextWaits: processes that let the kernel wait keep a few goroutines until they end, and no caller. The files of these here have no
// other end.
func TestProcessContextWaits(t *testing.T) {
	proc := fakeProc{t, t.TempDir()}
	for pid := int32(100); pid < 100+maxWaiting; pid++ {
		proc.add(pid, "hostile", "/hostile", "/")
		require.NoError(t, syscall.Mkfifo(filepath.Join(proc.dir, strconv.Itoa(int(pid)), "maps"), 0o600))
	}
	proc.add(200, "myapp", "/myapp", "/")
	proc.publish(200, "service.name=shop")
	c := newContexts(proc.dir)
	patience = time.Microsecond
	t.Cleanup(func() { patience = testscale.Patience })
	for n := range maxWaiting {
		testscale.Eventually(t, func() bool { // the time before was spent for the last one
			assert.Empty(t, c.of(100+int32(n)))
			return len(c.waiting) > n
		}, "a process is not looked at")
	}
	c.waits, patience = allowance{}, testscale.Patience
	assert.Empty(t, c.of(200), "no other goroutine may wait")

	for pid := int32(100); pid < 100+maxWaiting; pid++ { // they end
		w, err := os.OpenFile(filepath.Join(proc.dir, strconv.Itoa(int(pid)), "maps"), os.O_WRONLY, 0)
		require.NoError(t, err)
		require.NoError(t, w.Close())
	}
	testscale.Eventually(t, func() bool { return len(c.waiting) == 0 }, "goroutines are left")
	assert.Equal(t, "shop", c.of(200).service)
}
