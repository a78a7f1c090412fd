//go:build linux && !386 && !arm && !mips && !mipsle

package attach

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
)

// TestFindBesideLocks: a program is found while others lock and unlock more files than the kernel lists in one part.
func TestFindBesideLocks(t *testing.T) {
	_, number, _ := lockedFake(t)
	program := ownLock(number)
	dir := t.TempDir()
	var files []*os.File
	for i := range 200 {
		f, err := os.Create(filepath.Join(dir, strconv.Itoa(i)))
		require.NoError(t, err)
		defer f.Close()
		require.NoError(t, syscall.Flock(int(f.Fd()), syscall.LOCK_EX))
		files = append(files, f)
	}
	var stop atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for !stop.Load() {
			for _, f := range files {
				assert.NoError(t, syscall.Flock(int(f.Fd()), syscall.LOCK_UN))
				assert.NoError(t, syscall.Flock(int(f.Fd()), syscall.LOCK_EX))
			}
		}
	})
	missed := 0
	for range testscale.CountConcurrent(2000, 200) {
		list, err := Find()
		require.NoError(t, err)
		if !slices.Contains(list, program) {
			missed++
		}
	}
	stop.Store(true)
	wg.Wait()
	assert.Zero(t, missed)
}
