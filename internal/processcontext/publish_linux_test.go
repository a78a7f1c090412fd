package processcontext

import (
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
)

const self = "/proc/self"

func publish(t *testing.T, resource []Attribute) *Context {
	t.Helper()
	c, err := Publish(resource)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// TestPublish: each resource is what a reader gets, until the next one or the end. The collector of garbage leaves it alone.
func TestPublish(t *testing.T) {
	_, err := Read(self)
	require.ErrorIs(t, err, fs.ErrNotExist)
	c := publish(t, allTypes)
	for _, resource := range [][]Attribute{allTypes, nil, {{"n", strings.Repeat("long", 16000)}}, {{"n", "short"}}, {{"n", "short"}}} {
		at := layoutAt(c.mapping).publishedAt.Load()
		require.NoError(t, c.Update(resource))
		assert.Greater(t, layoutAt(c.mapping).publishedAt.Load(), at)
		runtime.GC()
		got, err := Read(self)
		require.NoError(t, err)
		assert.Equal(t, resource, got)
	}
	require.ErrorContains(t, c.Update([]Attribute{{"n", strings.Repeat("x", maxPayload)}}), "readers take 65536")
	got, err := Read(self)
	require.NoError(t, err)
	assert.Equal(t, []Attribute{{"n", "short"}}, got, "the one before")

	require.NoError(t, c.Close())
	require.NoError(t, c.Close())
	require.ErrorIs(t, c.Update(nil), os.ErrClosed)
	_, err = Read(self)
	require.ErrorIs(t, err, fs.ErrNotExist)
	again := publish(t, nil)
	require.NoError(t, again.Close())
}

// TestPublishHeader: the header is that of OTEP 4719.
func TestPublishHeader(t *testing.T) {
	c := publish(t, allTypes)
	h := header(c.mapping)
	require.NoError(t, h.check())
	assert.Equal(t, layoutAt(c.mapping).publishedAt.Load(), h.publishedAt())
	assert.EqualValues(t, len(c.payload), h.payloadSize())
	assert.Equal(t, address(c.payload), h.payload())
	layoutAt(c.mapping).publishedAt.Store(1 << 62) // the clock does not go on
	require.NoError(t, c.Update(nil))
	assert.Equal(t, uint64(1<<62+1), layoutAt(c.mapping).publishedAt.Load())
}

// TestPublishOnce: a process has one context, also if several goroutines or libraries want one.
func TestPublishOnce(t *testing.T) {
	var all sync.WaitGroup
	contexts, errs := make([]*Context, 8), make([]error, 8)
	for i := range contexts {
		all.Go(func() { contexts[i], errs[i] = Publish([]Attribute{{"n", int64(i)}}) })
	}
	all.Wait()
	published := 0
	for i, c := range contexts {
		require.NotNil(t, c)
		if errs[i] == nil {
			published++
			got, err := Read(self)
			require.NoError(t, err)
			assert.Equal(t, []Attribute{{"n", int64(i)}}, got)
		} else {
			require.ErrorIs(t, errs[i], errPublished)
			require.ErrorIs(t, c.Update(nil), os.ErrClosed)
		}
	}
	assert.Equal(t, 1, published)
	for _, c := range contexts {
		require.NoError(t, c.Close())
	}
	c, err := Publish([]Attribute{{"n", strings.Repeat("x", maxPayload)}})
	require.ErrorContains(t, err, "readers take 65536")
	require.NoError(t, c.Close())
}

// TestUpdateWhileRead: a reader gets one resource or the other, and never parts of both.
func TestUpdateWhileRead(t *testing.T) {
	resources := [2][]Attribute{{{"n", strings.Repeat("a", 5000)}}, {{"n", "b"}, {"m", int64(1)}}}
	c := publish(t, resources[0])
	stop := make(chan bool)
	var all sync.WaitGroup
	all.Go(func() {
		for i := 1; ; i++ {
			select {
			case <-stop:
				return
			default:
				assert.NoError(t, c.Update(resources[i%2]))
			}
		}
	})
	for range testscale.CountConcurrent(500, 50) {
		got, err := Read(self)
		if err != nil {
			require.ErrorIs(t, err, errChanging)
			continue
		}
		require.Contains(t, resources, got)
	}
	close(stop)
	all.Wait()
}

// TestPublishAtFork: neither a forked child nor a program that it executes has the context of its parent.
func TestPublishAtFork(t *testing.T) {
	publish(t, allTypes)
	executed := start(t, "wait")
	_, err := Read(executed.dir())
	require.ErrorIs(t, err, fs.ErrNotExist)

	r, w, err := os.Pipe()
	require.NoError(t, err)
	pid, err := fork(r.Fd(), w.Fd())
	require.NoError(t, err)
	dir := fmt.Sprintf("/proc/%d", pid)
	maps, err := os.ReadFile(dir + "/maps")
	require.NoError(t, err)
	assert.Contains(t, string(maps), "[stack]", "it has the memory of its parent")
	assert.NotContains(t, string(maps), name)
	_, err = Read(dir)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NoError(t, w.Close())
	require.NoError(t, r.Close())
	p, err := os.FindProcess(pid)
	require.NoError(t, err)
	state, err := p.Wait()
	require.NoError(t, err)
	assert.True(t, state.Success())
}

// TestUpdateUnmaps: an update leaves nothing of the resource before.
func TestUpdateUnmaps(t *testing.T) {
	c := publish(t, nil)
	size := func() (pages int) {
		text, err := os.ReadFile("/proc/self/statm")
		require.NoError(t, err)
		_, err = fmt.Sscan(string(text), &pages)
		require.NoError(t, err)
		return pages
	}
	before := size()
	for range 5000 {
		require.NoError(t, c.Update([]Attribute{{"n", strings.Repeat("x", 60_000)}}))
	}
	assert.Less(t, (size()-before)*os.Getpagesize(), 150<<20, "of 300 MB")
}
