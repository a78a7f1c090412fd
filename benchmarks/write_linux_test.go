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
	for _, size := range []int{64, 256, 1024, 4064} {
		buf := make([]byte, uevents.IndexSize+size)
		run(b, fmt.Sprintf("bytes=%d", size), call{log: func() { _, _ = ev.WriteRecord(buf) }})
	}
	buf := make([]byte, uevents.IndexSize+len(payload))
	_, err = ev.WriteRecord(buf)
	require.NoError(b, err) // puts the event's index in front, for good
	fd := int(data.Fd())
	run(b, "raw", call{log: func() { _, _ = unix.Write(fd, buf) }})
	require.Greater(b, i.Stats().Entries+i.Stats().Overrun, uint64(5), "every way writes")
	i.Detach()
}
