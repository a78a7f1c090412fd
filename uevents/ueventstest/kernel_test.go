package ueventstest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

func TestDefaults(t *testing.T) {
	for _, o := range []*Options{nil, {}, {BufferSize: -1, MaxEvents: -1}} {
		k := NewKernel(o)
		assert.Equal(t, backend.EnableAddress, k.open().ABI())
		assert.Equal(t, defaultBufferSize, k.bufferSize)
		assert.Equal(t, defaultMaxEvents, k.maxEvents)
	}
}

func TestMaxEvents(t *testing.T) {
	k := NewKernel(&Options{MaxEvents: 3})
	f := k.open()
	var last backend.Registration
	for i := range 3 {
		last = mustRegister(t, f, fmt.Sprintf("ev%d", i))
	}
	_, err := register(f, "one_more", new(atomic.Uintptr), 0)
	assert.ErrorIs(t, err, errno.EMFILE)
	require.NoError(t, f.Unregister(last.Word, 0))
	require.NoError(t, f.Close())
	mustRegister(t, k.open(), "one_more")
}

// fakeTB is a test that fails without failing the one it is used in.
type fakeTB struct {
	testing.TB
	cleanups []func()
	errors   []string
}

func (f *fakeTB) Helper()          {}
func (f *fakeTB) Cleanup(c func()) { f.cleanups = append(f.cleanups, c) }
func (f *fakeTB) Error(args ...any) {
	f.errors = append(f.errors, fmt.Sprint(args...))
}

func (f *fakeTB) end() {
	for _, c := range f.cleanups {
		c()
	}
}

func TestNewFindsLeaks(t *testing.T) {
	tests := []struct {
		name string
		test func(t *testing.T, k *Kernel)
		want []string
	}{
		{"nothing done", func(*testing.T, *Kernel) {}, nil},
		{"a tool is left to the kernel", func(t *testing.T, k *Kernel) {
			f := k.open()
			r := mustRegister(t, f, "ev")
			mustAttach(t, k, Ftrace, "ev")
			require.NoError(t, f.Unregister(r.Word, 0))
			require.NoError(t, f.Close())
		}, nil},
		{"closed properly", func(t *testing.T, k *Kernel) {
			f := k.open()
			r := mustRegister(t, f, "ev")
			mustAttach(t, k, Ftrace, "ev").Detach()
			require.NoError(t, f.Unregister(r.Word, 0))
			require.NoError(t, f.Close())
		}, nil},
		{"open files", func(_ *testing.T, k *Kernel) {
			k.open()
			k.open()
		}, []string{"ueventstest: providers still open: 2"}},
		{"registered words", func(t *testing.T, k *Kernel) {
			f := k.open()
			for _, command := range []string{"b", "a", "b"} {
				mustRegister(t, f, command)
			}
			require.NoError(t, f.Close())
		}, []string{"ueventstest: enable bits still registered: 3, of a, b"}},
		{"both", func(t *testing.T, k *Kernel) {
			mustRegister(t, k.open(), "ev")
		}, []string{"ueventstest: providers still open: 1; enable bits still registered: 1, of ev"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fake := &fakeTB{}
			tt.test(t, New(fake, nil))
			fake.end()
			assert.Equal(t, tt.want, fake.errors)
		})
	}
}

func TestClose(t *testing.T) {
	onEach(t, generations, func(t *testing.T, k *Kernel) {
		f := k.open()
		r := mustRegister(t, f, "ev")
		tool := mustAttach(t, k, Ftrace, "ev")
		require.NoError(t, f.Write(message(0, []byte{1})))
		assert.Error(t, k.Close())
		assert.NoError(t, k.Close(), "a second Close")

		assert.Zero(t, r.Word.Load()&r.Mask, "no tool is attached any more")
		assert.ErrorIs(t, f.Write(message(0, []byte{2})), errno.EBADF)
		assert.Len(t, tool.Records(), 1)
		tool.Detach()
		_, err := k.Attach(Ftrace, "ev")
		assert.ErrorIs(t, err, errno.ENODEV)
		assert.NoError(t, f.Unregister(r.Word, 0))
		assert.NoError(t, f.Close())
	})
}

var generations = []uevents.ABI{uevents.ABIStatusByte, uevents.ABIStatusBit, uevents.ABIEnableAddress}

var statusGenerations = generations[:2]

// onEach runs a test on a kernel of each generation.
func onEach(t *testing.T, abis []uevents.ABI, f func(t *testing.T, k *Kernel)) {
	for _, abi := range abis {
		t.Run(strings.ReplaceAll(abi.String(), " ", "-"), func(t *testing.T) {
			f(t, NewKernel(&Options{ABI: abi, BufferSize: 1 << 16}))
		})
	}
}

// register registers a command at a word and bit, without flags.
func register(f backend.Backend, command string, word *atomic.Uintptr, bit uint8) (backend.Registration, error) {
	return f.Register(backend.Request{Command: command, Word: word, Bit: bit})
}

// mustRegister registers a command at a word of its own.
func mustRegister(t testing.TB, f backend.Backend, command string) backend.Registration {
	t.Helper()
	r, err := register(f, command, new(atomic.Uintptr), 0)
	require.NoError(t, err, "registering %q", command)
	return r
}

func mustAttach(t testing.TB, k *Kernel, kind Kind, names ...string) *Tool {
	t.Helper()
	tool, err := k.Attach(kind, names...)
	require.NoError(t, err, "attaching %s to %q", kind, names)
	return tool
}

// message puts a write index before a payload.
func message(index uint32, payload ...[]byte) []byte {
	buf := binary.NativeEndian.AppendUint32(nil, index)
	for _, p := range payload {
		buf = append(buf, p...)
	}
	return buf
}

// location is a dynamic field's word.
func location(offset, size int) []byte {
	return binary.NativeEndian.AppendUint32(nil, uint32(size<<16|offset))
}

// names returns the names of a kernel's tracepoints.
func names(k *Kernel) []string {
	out := []string{}
	for _, e := range k.Events() {
		out = append(out, e.Name)
	}
	return out
}

// TestEverythingAtOnce calls all methods from many goroutines, for the race detector, and
// then looks whether the books balance.
func TestEverythingAtOnce(t *testing.T) {
	onEach(t, generations, func(t *testing.T, k *Kernel) {
		const rounds = 200
		var wg sync.WaitGroup
		repeat := func(f func(i int) error) {
			wg.Go(func() {
				for i := range rounds {
					assert.NoError(t, f(i))
				}
			})
		}
		allow := func(err error, errs ...error) error {
			for _, e := range errs {
				if errors.Is(err, e) {
					return nil
				}
			}
			return err
		}
		word := new(atomic.Uintptr)
		for bit := range uint8(4) {
			repeat(func(i int) error {
				f := k.open()
				r, err := register(f, fmt.Sprintf("ev%d __rel_loc char[] a", i%3), word, bit)
				if err != nil {
					return err
				}
				buf := message(r.Index, location(0, 1), []byte{0})
				err = allow(f.Write(buf), errno.EBADF)
				_ = r.Word.Load() & r.Mask
				return errors.Join(err, f.Unregister(word, bit), f.Close())
			})
		}
		shared := k.open()
		for range 2 {
			repeat(func(i int) error {
				return allow(shared.Write(message(uint32(i%2), location(0, 1), []byte{0})), errno.EBADF, errno.ENOENT)
			})
		}
		repeat(func(i int) error {
			_, err := shared.Register(backend.Request{Command: fmt.Sprintf("ev%d __rel_loc char[] a", i%2), Word: new(atomic.Uintptr), Bit: 31})
			return err
		})
		for _, kind := range []Kind{Ftrace, Perf} {
			repeat(func(i int) error {
				tool, err := k.Attach(kind, fmt.Sprintf("ev%d", i%3))
				if err != nil {
					return allow(err, errno.ENOENT)
				}
				tool.Records()
				_, _ = tool.Lost(), tool.Oversized()
				tool.Detach()
				tool.Records()
				return nil
			})
		}
		repeat(func(int) error {
			_, _ = k.Status(), k.Events()
			_, err := k.Format("ev0")
			return errors.Join(allow(err, errno.ENOENT), allow(k.open().Delete("ev2"), errno.EBUSY, errno.ENOENT))
		})
		wg.Wait()

		assert.Zero(t, word.Load())
		for _, e := range k.Events() {
			assert.Zero(t, e.Ftrace+e.Perf, e.Name)
		}
		assert.NoError(t, shared.Close())
	})
}

// TestNothingAfterDetach has that a tool records nothing once Detach returned, whatever goroutine is
// writing.
func TestNothingAfterDetach(t *testing.T) {
	k := NewKernel(nil)
	f := k.open()
	mustRegister(t, f, "ev")
	var stop atomic.Bool
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for !stop.Load() {
				if err := f.Write(message(0)); err != nil && !errors.Is(err, errno.EBADF) {
					t.Error(err)
				}
			}
		})
	}
	for range testscale.CountConcurrent(200, 30) {
		tool := mustAttach(t, k, Ftrace, "ev")
		tool.Detach()
		tool.Records()
		assert.Empty(t, tool.Records())
	}
	stop.Store(true)
	wg.Wait()
}

// TestRecordsAreInOrder has that concurrent writes are numbered as they are recorded,
// without gaps.
func TestRecordsAreInOrder(t *testing.T) {
	k := NewKernel(nil)
	f := k.open()
	mustRegister(t, f, "ev")
	tool := mustAttach(t, k, Perf, "ev")
	const writers, each = 8, 100
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for range each {
				assert.NoError(t, f.Write(message(0)))
			}
		})
	}
	wg.Wait()
	records := tool.Records()
	require.Len(t, records, writers*each)
	for i, r := range records {
		require.Equal(t, uint64(i+1), r.Seq)
		require.False(t, i > 0 && r.Time.Before(records[i-1].Time.Add(-1e9)))
	}
}

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
