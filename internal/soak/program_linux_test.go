//go:build !386 && !arm && !mips && !mipsle

package soak

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/sys"
	"github.com/userevents/userevents-go/internal/words"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

const (
	programWriters = 2
	programEvents  = 4 // the last one is registered late

	// envName has the prefix of a tool's events, and envImage a number that no other program has: process ids come again. A tool
	// reads the writer of that number.
	envName, envImage = "SOAK_TEST_NAME", "SOAK_TEST_IMAGE"
)

// witness counts a program's calls of each event, in memory that outlives it.
type witness []byte

const witnessSize = programEvents * 16

func (w witness) begun(event int) *atomic.Uintptr    { return words.At(w, event*16) }
func (w witness) returned(event int) *atomic.Uintptr { return words.At(w, event*16+8) }

// memoryRecord is a record whose fields fit together.
func memoryRecord(buf []byte, image, writer, n uint64) []byte {
	size := n % 200
	rec := append(buf[:0], make([]byte, uevents.IndexSize)...)
	for _, v := range []uint64{image, writer, n, check(writer, n)} {
		rec = binary.NativeEndian.AppendUint64(rec, v)
	}
	rec = binary.NativeEndian.AppendUint32(rec, uint32(size+1)<<16)
	for range size {
		rec = append(rec, byte('a'+n%26))
	}
	return append(rec, 0)
}

const memoryFields = " u64 image; u64 writer; u64 n; u64 check; __rel_loc char[] text"

// isMemoryRecord reports whether the event is a record of memoryRecord.
func isMemoryRecord(ev *reader.Event) bool {
	if len(ev.Fields) != 5 {
		return false
	}
	writer, n := ev.Fields[1].Value.Uint64(), ev.Fields[2].Value.Uint64()
	return writer < programWriters && ev.Fields[3].Value.Uint64() == check(writer, n) &&
		ev.Fields[4].Value.String() == strings.Repeat(string(rune('a'+n%26)), int(n%200))
}

// own is the program itself, in its own process.
type own struct {
	t       *testing.T
	w       witness
	name    string
	image   uint64
	p       *uevents.Provider
	events  [programEvents]atomic.Pointer[uevents.Event]
	writing sync.WaitGroup
	stop    atomic.Bool
	n       [programWriters]uint64 // number of the last record
}

// obeyMemory is the life of a program in a process of its own: it does what it is told.
func obeyMemory(t *testing.T) {
	page, err := sys.MapWritable(3, witnessSize)
	require.NoError(t, err)
	o := &own{t: t, w: page}
	o.image, err = strconv.ParseUint(os.Getenv(envImage), 10, 64)
	require.NoError(t, err)
	fmt.Println("\nchild: ready")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		fmt.Println("child:", o.obey(in.Text()))
	}
	os.Exit(0) // the test has ended
}

func (o *own) obey(order string) string {
	order, argument, _ := strings.Cut(order, " ")
	switch order {
	case "open":
		o.name = argument
		p, err := uevents.Open(&uevents.Options{Transport: uevents.TransportMemory})
		require.NoError(o.t, err)
		o.p = p
		for i := range programEvents - 1 {
			o.register(i)
		}
	case "write":
		o.stop.Store(false)
		for i := range uint64(programWriters) {
			o.writing.Go(func() { o.write(i) })
		}
	case "flood":
		o.stop.Store(false)
		o.writing.Go(func() { o.flood(0) })
	case "steady":
		o.stop.Store(false)
		o.writing.Go(o.steady)
	case "pause":
		o.stop.Store(true)
		o.writing.Wait()
	case "late":
		o.register(programEvents - 1)
	case "again":
		require.NoError(o.t, o.events[0].Load().Close())
		o.register(0)
	case "close":
		for i := range o.events {
			o.events[i].Store(nil)
		}
		require.NoError(o.t, o.p.Close())
	case "exec":
		require.NoError(o.t, os.Setenv(envImage, strconv.FormatUint(o.image+1, 10)))
		require.NoError(o.t, syscall.Exec("/proc/self/exe", os.Args, os.Environ()))
	case "exit":
		os.Exit(0)
	case "hold":
		h := hold(o.t)
		return fmt.Sprint(h.goroutines, h.heap, h.words)
	}
	return order
}

func (o *own) register(i int) {
	e, err := o.p.Register(tracepoint.MustParse(fmt.Sprintf("%s_%d%s", o.name, i, memoryFields)), nil)
	require.NoError(o.t, err)
	o.events[i].Store(e)
}

// flood writes records of one event, as fast as it can or so many.
func (o *own) flood(n int) {
	e := o.events[0].Load()
	buf := memoryRecord(nil, o.image, 0, 64)
	for i := 0; !o.stop.Load() && (i < n || n == 0); i++ {
		o.w.begun(0).Add(1)
		written, err := e.WriteRecord(buf)
		if !written {
			panic(err)
		}
		o.w.returned(0).Add(1)
	}
}

// steady writes a thousand records a second.
func (o *own) steady() {
	for began, n := time.Now(), 0; !o.stop.Load(); {
		due := int(time.Since(began) / time.Millisecond) //nolint:forbidigo // load
		if due > n {                                     // else 0 is no limit
			o.flood(due - n)
		}
		n = due
		time.Sleep(5 * time.Millisecond) //nolint:forbidigo // load
	}
}

// write writes records in bursts, some of which the rings have no room for.
func (o *own) write(writer uint64) {
	var buf []byte
	for bursts := 1; !o.stop.Load(); bursts++ {
		size := 1 + rand.IntN(20)
		if bursts%100 == 5 {
			size = 1000
		}
		for range size {
			i := rand.IntN(programEvents)
			e := o.events[i].Load()
			if e == nil {
				continue
			}
			o.n[writer]++
			buf = memoryRecord(buf, o.image, writer, o.n[writer])
			o.w.begun(i).Add(1)
			switch written, err := e.WriteRecord(buf); {
			case written:
				o.w.returned(i).Add(1)
			case err == nil || errors.Is(err, uevents.ErrClosed):
				o.w.begun(i).Add(^uintptr(0))
			default:
				panic(err)
			}
		}
		time.Sleep(time.Duration(2+rand.IntN(18)) * time.Millisecond) //nolint:forbidigo // load
	}
}
