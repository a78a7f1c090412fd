//go:build linux && !386 && !arm && !mips && !mipsle

package memory

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/internal/memory/attach"
	"github.com/userevents/userevents-go/internal/sys"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/internal/words"
)

var (
	kills   = flag.Int("kills", 20, "how many programs TestLossKilled kills for each size of rings")
	records = flag.Int("records", 20_000, "how many records each program of TestLossWhole writes")
)

const (
	// envWriter has the number of records that each goroutine of the role "writer" writes, or 0 for ever.
	envWriter = "USER_EVENTS_TEST_WRITER"

	lossWriters = 4
	lossEvents  = 3
)

// witness counts the calls of each writer, in memory that outlives the program.
type witness []byte

const witnessSize = lossWriters * lossEvents * 16

// count adds n to the calls that a writer has begun for an event, or to those that have returned.
func (w witness) count(writer, event, which int, n uintptr) uint64 {
	return uint64(words.At(w, ((writer*lossEvents+event)*2+which)*8).Add(n))
}

const begun, returned = 0, 1

// writer is the program.
func writer(*actor) {
	n, err := strconv.Atoi(os.Getenv(envWriter))
	check(err)
	page, err := sys.MapWritable(3, witnessSize)
	check(err)
	w := witness(page)
	f, err := Open("")
	check(err)
	var events [lossEvents]backend.Registration
	for i := range events {
		word, err := f.NewWord()
		check(err)
		events[i], err = f.Register(backend.Request{Command: fmt.Sprintf("ue_loss_%d u64 writer; u64 seq; u64 fill", i), Word: word})
		check(err)
	}
	fmt.Println("ready")
	awaitEnabled := func(e backend.Registration) {
		for e.Word.Load()&e.Mask == 0 {
			runtime.Gosched()
		}
	}
	for _, e := range events {
		awaitEnabled(e)
	}
	var wg sync.WaitGroup
	for id := range lossWriters {
		wg.Go(func() {
			buf := make([]byte, 512)
			rng := rand.New(rand.NewPCG(uint64(id), 1))
			for seq := 1; n == 0 || seq <= n; seq++ {
				k := rng.IntN(lossEvents)
				record := buf[:4+24+rng.IntN(400)]
				binary.NativeEndian.PutUint32(record, events[k].Index)
				binary.NativeEndian.PutUint64(record[4:], uint64(id))
				binary.NativeEndian.PutUint64(record[12:], uint64(seq))
				fill(record[20:], id, seq)
				w.count(id, k, begun, 1)
				err := f.Write(record)
				if n == 0 && errors.Is(err, errno.EBADF) { // a tool without a processor for 10 s enables the events again
					awaitEnabled(events[k])
					continue
				}
				check(err)
				w.count(id, k, returned, 1)
				if seq%64 == 0 {
					runtime.KeepAlive(make([]byte, 32<<10)) // garbage collection stops writers anywhere
				}
			}
		})
	}
	wg.Wait()
	fmt.Println("done")
	_, _ = io.Copy(io.Discard, os.Stdin) // the memory goes with the process
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "writer:", err)
		os.Exit(1)
	}
}

func fill(b []byte, id, seq int) {
	for i := range b {
		b[i] = byte(seq*7 + id)
	}
}

// traced is a program of writer, with a tool attached.
type traced struct {
	t       *testing.T
	cmd     *exec.Cmd
	stdin   io.Closer
	out     *lines
	w       witness
	p       *attach.Program
	s       *attach.Session
	read    [lossEvents]uint64
	last    [lossWriters]uint64
	newest  uint64
	ids     map[uint32]int
	scratch []byte
}

// lines lets a test wait for a line of a program.
type lines struct{ r io.Reader }

func (l *lines) wait(t *testing.T, line string) {
	t.Helper()
	b := make([]byte, len(line)+1)
	_, err := io.ReadFull(l.r, b)
	require.NoError(t, err)
	require.Equal(t, line+"\n", string(b))
}

// begin starts a program, whose goroutines write so many records each, or for ever if that is 0, as soon as the events are enabled.
func begin(t *testing.T, n int) *traced {
	t.Helper()
	fd, err := sys.CreateMemory("witness", witnessSize, 0)
	require.NoError(t, err)
	page, err := sys.MapWritable(fd, witnessSize)
	require.NoError(t, err)
	file := os.NewFile(uintptr(fd), "witness")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envRole+"=writer", envWriter+"="+strconv.Itoa(n))
	cmd.ExtraFiles = []*os.File{file}
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	require.NoError(t, file.Close())
	p := &traced{t: t, cmd: cmd, stdin: stdin, out: &lines{stdout}, w: page, ids: map[uint32]int{}}
	p.out.wait(t, "ready")
	return p
}

func start(t *testing.T, n, ring int) *traced {
	t.Helper()
	p := begin(t, n)
	var err error
	p.p, err = attach.Open(p.cmd.Process.Pid)
	require.NoError(t, err)
	events, _ := p.p.Events(0)
	require.Len(t, events, lossEvents)
	for i, e := range events {
		p.ids[e.ID] = i
	}
	p.s, err = p.p.Attach(attach.Options{RingSize: ring, Patterns: []string{"ue_loss_*"}})
	require.NoError(t, err)
	return p
}

// take checks records and counts them.
func (p *traced) take(list []attach.Record) {
	for _, r := range list {
		k, known := p.ids[r.Event]
		require.True(p.t, known, "event %d", r.Event)
		require.GreaterOrEqual(p.t, len(r.Payload()), 24)
		id := binary.NativeEndian.Uint64(r.Payload())
		seq := binary.NativeEndian.Uint64(r.Payload()[8:])
		require.Less(p.t, id, uint64(lossWriters))
		p.scratch = append(p.scratch[:0], r.Payload()[16:]...)
		fill(p.scratch, int(id), int(seq))
		require.True(p.t, bytes.Equal(p.scratch, r.Payload()[16:]), "torn")
		require.Greater(p.t, seq, p.last[id], "twice, or out of order")
		require.GreaterOrEqual(p.t, r.Time, p.newest, "order of time")
		p.last[id], p.newest = seq, r.Time
		p.read[k]++
	}
}

// law checks that each call that returned was read or lost, and no other was, but for calls that were cut off.
func (p *traced) law() (read, lost, cut uint64) {
	for id, k := range p.ids {
		var started, ended uint64
		for w := range lossWriters {
			started += p.w.count(w, k, begun, 0)
			ended += p.w.count(w, k, returned, 0)
		}
		n := p.s.Lost(id)
		read += p.read[k]
		lost += n
		cut += started - ended
		assert.LessOrEqual(p.t, ended, p.read[k]+n, "event %d: %d read, %d lost", k, p.read[k], n)
		assert.LessOrEqual(p.t, p.read[k]+n, started, "event %d: %d read, %d lost", k, p.read[k], n)
	}
	return read, lost, cut
}

func (p *traced) close() {
	require.NoError(p.t, p.s.Detach())
	require.NoError(p.t, p.p.Close())
	require.NoError(p.t, sys.UnmapBytes(p.w))
}

// TestLossKilled: programs are killed at any moment. Whatever their calls wrote is read or counted as lost, to the digit.
func TestLossKilled(t *testing.T) {
	count := *kills
	if testscale.Race {
		count = max(1, count/10) // each takes twenty times as long
	}
	for _, ring := range []int{64 << 10, 1 << 20} {
		t.Run(strconv.Itoa(ring), func(t *testing.T) {
			var read, lost, cut uint64
			for range count {
				p := start(t, 0, ring)
				for rounds := rand.IntN(40); rounds >= 0 || p.newest == 0; rounds-- {
					p.take(p.s.Read())
					if rand.IntN(10) == 0 {
						sys.Sleep(time.Duration(rand.IntN(1000)) * time.Microsecond) // a tool that stalls
					}
				}
				require.NoError(t, p.cmd.Process.Kill())
				_ = p.cmd.Wait()
				p.take(p.s.Read())
				p.take(p.s.Drain())
				r, l, c := p.law()
				read, lost, cut = read+r, lost+l, cut+c
				p.close()
			}
			t.Logf("%d programs: %d records read, %d lost, %d calls cut off", count, read, lost, cut)
		})
	}
}

// TestLossWhole: programs that end their work; several at a time, with tools that stall.
func TestLossWhole(t *testing.T) {
	for _, ring := range []int{64 << 10, 1 << 20} {
		t.Run(strconv.Itoa(ring), func(t *testing.T) {
			var programs []*traced
			for range 4 {
				programs = append(programs, start(t, *records/lossWriters, ring))
			}
			done := make(chan *traced)
			for _, p := range programs {
				go func() {
					p.out.wait(t, "done")
					done <- p
				}()
			}
			for left := len(programs); left > 0; {
				select {
				case <-done:
					left--
				default:
				}
				for _, p := range programs {
					p.take(p.s.Read())
				}
			}
			for _, p := range programs {
				p.take(p.s.Read())
				read, lost, cut := p.law()
				assert.Zero(t, cut)
				assert.EqualValues(t, *records/lossWriters*lossWriters, read+lost)
				t.Logf("%d records read, %d lost", read, lost)
				require.NoError(t, p.stdin.Close())
				require.NoError(t, p.cmd.Wait())
				p.close()
			}
		})
	}
}
