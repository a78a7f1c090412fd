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
	t.Cleanup(func() { patience, pause = testscale.Patience, time.Minute })
	pause = 0
	for pid := int32(100); pid < 100+maxWaiting-1; pid++ {
		assert.Empty(t, c.of(pid))
	}
	pause = time.Hour
	assert.Empty(t, c.of(100+maxWaiting-1))
	assert.Len(t, c.waiting, maxWaiting-1, "none is looked at after a wait in vain")
	pause = 0
	assert.Empty(t, c.of(100+maxWaiting-1))
	assert.Len(t, c.waiting, maxWaiting)
	patience = testscale.Patience
	assert.Empty(t, c.of(200), "no other goroutine may wait")

	for pid := int32(100); pid < 100+maxWaiting; pid++ { // they end
		w, err := os.OpenFile(filepath.Join(proc.dir, strconv.Itoa(int(pid)), "maps"), os.O_WRONLY, 0)
		require.NoError(t, err)
		require.NoError(t, w.Close())
	}
	testscale.Eventually(t, func() bool { return len(c.waiting) == 0 }, "goroutines are left")
	assert.Equal(t, "shop", c.of(200).service)
}
