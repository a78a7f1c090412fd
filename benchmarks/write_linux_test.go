package benchmarks

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

// BenchmarkWrite is one event whose payload is made already, by its size, and the system call
// without the library.
func BenchmarkWrite(b *testing.B) {
	fs := kerneltest.Require(b)
	data, err := os.OpenFile(fs.Path("user_events_data"), os.O_RDWR, 0)
	require.NoError(b, err)
	defer data.Close()
	p, err := uevents.Open(&uevents.Options{File: data})
	require.NoError(b, err)
	defer p.Close()
	name := uniqueName()
	ev, err := p.Register(tracepoint.Declaration{Name: name}, nil)
	require.NoError(b, err)
	i := kerneltest.NewInstance(b, fs, 256)
	i.Attach(name)
	write := func(size int) func() {
		buf := make([]byte, uevents.IndexSize+size)
		return func() { _, _ = ev.WriteRecord(buf) }
	}
	for _, size := range []int{64, 256, opaque, 1024, 4064} {
		run(b, fmt.Sprintf("bytes=%d", size), call{log: write(size)})
	}
	buf := make([]byte, uevents.IndexSize+len(payload))
	_, err = ev.WriteRecord(buf)
	require.NoError(b, err) // puts the event's index in front, for good
	fd := int(data.Fd())
	run(b, "raw", call{log: func() { _, _ = unix.Write(fd, buf) }})
	tools := []*kerneltest.Instance{i}
	for range 2 {
		more := kerneltest.NewInstance(b, fs, 256)
		more.Attach(name)
		tools = append(tools, more)
		run(b, fmt.Sprintf("tools=%d", len(tools)), call{log: write(opaque)})
	}
	require.Greater(b, i.Stats().Entries+i.Stats().Overrun, uint64(5), "every way writes")
	for _, tool := range tools {
		tool.Detach()
	}
	full := kerneltest.NewInstance(b, fs, 4)
	require.NoError(b, os.WriteFile(full.Path("options", "overwrite"), []byte("0"), 0))
	full.Attach(name)
	for range batch {
		write(opaque)()
	}
	require.Positive(b, full.Stats().Dropped)
	run(b, "full", call{log: write(opaque)})
	full.Detach()
}
