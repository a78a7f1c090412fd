package ueventstest

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/tracepoint"
)

// FuzzDeclarations has that what package tracepoint accepts can be registered, and comes
// back equal from everywhere.
func FuzzDeclarations(f *testing.F) {
	for _, s := range []string{
		"myapp_http_request u16 status; u64 latency_ns; __rel_loc char[] route",
		"a",
		"a u32 b;",
		"a struct struct struct 4096;char[1024] c;unsigned char[0x14] d",
		"a  __data_loc   unsigned char[]  b ;s8 c; short d; unsigned short e; int f; unsigned int g",
		"a struct unsigned x 020",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := tracepoint.Parse(s)
		if err != nil {
			return
		}
		for _, abi := range generations {
			k := New(t, &Options{ABI: abi, BufferSize: 1 << 12})
			file := k.open()
			word := new(atomic.Uintptr)
			_, err := register(file, d.String(), word, 0)
			require.NoError(t, err, "%q", d)
			_, err = register(file, d.String(), word, 1)
			require.NoError(t, err, "%q, again", d)

			fields, known := file.Fields(d.Name)
			require.True(t, known)
			require.Equal(t, d.FieldList(), fields)
			event := k.Events()[0]
			require.True(t, d.Equal(event.Declaration), "%q, got %q", d, event.Declaration)

			tool := mustAttach(t, k, Ftrace, d.Name)
			size := d.FixedSize()
			if size > 0 {
				require.ErrorIs(t, file.Write(message(0, make([]byte, size-1))), errno.EINVAL)
			}
			require.NotErrorIs(t, file.Write(message(0, make([]byte, size))), errno.EINVAL)
			tool.Detach()

			require.NoError(t, file.Unregister(word, 0))
			require.NoError(t, file.Unregister(word, 1))
			require.NoError(t, file.Close())
			if k.page != nil {
				require.NoError(t, k.open().Delete(d.Name))
				k.files--
			}
			require.Empty(t, k.Events())
		}
	})
}

// FuzzCommands feeds text and bytes of any kind to everything that takes some. Whatever is
// registered has to answer to its own text in one of two ways.
func FuzzCommands(f *testing.F) {
	f.Add("ev u32 a; __rel_loc char[] b", []byte{0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0}, uint16(0))
	f.Add("ev struct s a 2147483640; __rel_loc char[] b; struct s c 2147483647; u64 d", make([]byte, 40), uint16(0))
	f.Add("ev __data_loc char[] b", []byte{0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}, uint16(2))
	f.Add("ev:x char[8\n] \xa0;;", []byte{0xff, 0xff, 0xff, 0xff}, uint16(1))
	f.Add("", []byte{}, uint16(3))
	f.Add("ev struct s a 020", []byte{1, 2, 3}, uint16(4))
	f.Fuzz(func(t *testing.T, text string, payload []byte, flags uint16) {
		for _, abi := range generations {
			k := NewKernel(&Options{ABI: abi, BufferSize: 1 << 12})
			file := k.open()
			word := new(atomic.Uintptr)
			r, err := file.Register(backend.Request{Command: text, Flags: flags, Word: word})
			again, err2 := file.Register(backend.Request{Command: text, Flags: flags, Word: word, Bit: 1})
			switch {
			case err != nil:
				assert.Equal(t, err, err2)
			case err2 == nil:
				assert.Equal(t, r.Index, again.Index)
			default:
				assert.ErrorIs(t, err2, errno.EADDRINUSE)
			}
			for _, kind := range []Kind{Ftrace, Perf} {
				if _, err := k.Attach(kind, "*"); err != nil {
					assert.ErrorIs(t, err, errno.ENOENT, "names with a slash")
				}
			}
			_ = file.Write(payload)
			_ = file.Write(message(r.Index, payload))
			_, _ = k.Attach(Ftrace, text)
			for _, e := range k.Events() {
				_, err := k.Format(e.Name)
				assert.NoError(t, err)
			}
			assert.NotEmpty(t, k.Status())
			_ = file.Delete(text)
			assert.NoError(t, file.Close())
		}
	})
}
