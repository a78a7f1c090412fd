//go:build linux && !386 && !arm && !mips && !mipsle

package memory

import (
	"encoding/binary"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/memory/attach"
	"github.com/userevents/userevents-go/internal/sys"
)

// benchmark writes records to tools. Rings that hold them all count what a record costs while the tool keeps up.
func benchmark(b *testing.B, size, ring, tools int, full bool) {
	f, err := Open("")
	require.NoError(b, err)
	defer func() { require.NoError(b, f.Close()) }()
	word, err := f.NewWord()
	require.NoError(b, err)
	defer f.FreeWord(word)
	r, err := f.Register(backend.Request{Command: "ue_bench", Word: word})
	require.NoError(b, err)
	defer func() { require.NoError(b, f.Unregister(word, 0)) }()
	p, err := attach.Open(os.Getpid())
	require.NoError(b, err)
	defer func() { require.NoError(b, p.Close()) }()
	for range tools {
		s, err := p.Attach(attach.Options{RingSize: ring, Patterns: []string{"ue_bench"}})
		require.NoError(b, err)
		defer func() { require.NoError(b, s.Detach()) }()
	}
	buf := binary.NativeEndian.AppendUint32(nil, r.Index)
	buf = append(buf, make([]byte, size)...)
	require.NoError(b, f.Write(buf))
	b.ReportAllocs()
	b.ResetTimer()
	files := f.(*file).p.files
	for i := range b.N {
		_ = f.Write(buf)
		if i%64 != 0 || full {
			continue
		}
		for i := range tools { // the tool keeps up
			heads, _ := files.rings(i)
			for k := range 2 {
				if n := heads[k].Position.Load(); n != 0 {
					files.control.Sessions[i].Tails[k].Position.Store(n)
				}
			}
		}
	}
	b.StopTimer()
}

func BenchmarkNanotime(b *testing.B) {
	for range b.N {
		sys.Nanotime()
	}
}

func BenchmarkWrite(b *testing.B) {
	for _, c := range []struct {
		name              string
		size, ring, tools int
	}{
		{"300", 300, 64 << 10, 1},
		{"0", 0, 64 << 10, 1},
		{"300, two tools", 300, 64 << 10, 2},
		{"300, three tools", 300, 64 << 10, 3},
		{"full", 300, 4 << 10, 1},
	} {
		b.Run(c.name, func(b *testing.B) { benchmark(b, c.size, c.ring, c.tools, c.name == "full") })
	}
}
