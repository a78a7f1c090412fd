//go:build !386 && !arm && !mips && !mipsle

package reader_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/memory/layout"
	"github.com/userevents/userevents-go/internal/sys"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

// provider is a program in the process of the test.
func provider(t *testing.T) *uevents.Provider {
	t.Helper()
	p, err := uevents.Open(&uevents.Options{Transport: uevents.TransportMemory})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}

func register(t *testing.T, p *uevents.Provider, name string) *uevents.Event {
	t.Helper()
	e, err := p.Register(tracepoint.MustParse(name+" u64 n"), nil)
	require.NoError(t, err)
	return e
}

func write(t *testing.T, e *uevents.Event) bool {
	t.Helper()
	written, err := e.WriteRecord(make([]byte, uevents.IndexSize+8))
	require.NoError(t, err)
	return written
}

// control is what the tools of the test's process have asked for.
func control(t *testing.T) *layout.Control {
	t.Helper()
	links, err := filepath.Glob("/proc/self/fd/*")
	require.NoError(t, err)
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil && strings.HasPrefix(target, "/memfd:"+layout.ControlName) {
			fd, _, err := sys.OpenMemory(link, true, false)
			require.NoError(t, err)
			defer func() { require.NoError(t, sys.Close(fd)) }()
			b, err := sys.MapWritable(fd, layout.ControlSize)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, sys.UnmapBytes(b)) })
			return layout.ControlAt(b)
		}
	}
	require.Fail(t, "no memory")
	return nil
}

// poll lets the reader look at the programs until a condition holds.
func poll(t *testing.T, r *reader.Reader, condition func() bool) {
	t.Helper()
	testscale.Eventually(t, func() bool {
		r.SetDeadline(time.Now().Add(5 * time.Millisecond))
		if err := r.Next(new(record.Record)); err != nil {
			require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		}
		return condition()
	}, "not yet")
}

// TestMemoryNoFollow: a reader that follows nothing stays attached to the programs that it has found, until they end.
func TestMemoryNoFollow(t *testing.T) {
	testscale.HostOnly(t)
	p, err := uevents.Open(&uevents.Options{Transport: uevents.TransportMemory})
	require.NoError(t, err)
	first := register(t, p, "mem_first")
	r, notices := openMemory(t, reader.Options{Selection: reader.Selection{Events: []string{"mem_first", "mem_later"}}, NoFollow: true, Poll: time.Millisecond})
	assert.True(t, first.Enabled())

	session := &control(t).Sessions[0]
	session.Expires.Store(1)
	poll(t, r, func() bool { return session.Expires.Load() > 1 }) // the reader says that it lives

	later := register(t, p, "mem_later")
	poll(t, r, func() bool { return !later.Enabled() }) // but for a moment, since its name matches
	assert.True(t, first.Enabled())
	require.NoError(t, p.Close())
	poll(t, r, func() bool { return len(notices()) > 0 })
	assert.Equal(t, []reader.NoticeKind{reader.NoticeDetached}, []reader.NoticeKind{notices()[0].Kind})

	p = provider(t)
	again := register(t, p, "mem_first")
	r.SetDeadline(time.Now().Add(20 * time.Millisecond))
	require.ErrorIs(t, r.Next(new(record.Record)), os.ErrDeadlineExceeded)
	assert.False(t, again.Enabled())
}

// TestMemoryExited: a program that has closed its events is reported after its last record.
func TestMemoryExited(t *testing.T) {
	testscale.HostOnly(t)
	p, err := uevents.Open(&uevents.Options{Transport: uevents.TransportMemory})
	require.NoError(t, err)
	e := register(t, p, "mem_exited")
	r, notices := openMemory(t, reader.Options{Selection: reader.Selection{Events: []string{"mem_exited"}}, Poll: time.Millisecond})
	const n = 1000
	for range n {
		require.True(t, write(t, e))
	}
	require.NoError(t, p.Close())
	read := 0
	for !slices.ContainsFunc(notices(), func(n reader.Notice) bool { return n.Kind == reader.NoticeExited }) {
		r.SetDeadline(time.Now().Add(5 * time.Millisecond))
		if err := r.Next(new(record.Record)); err == nil {
			read++
		} else {
			require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		}
	}
	assert.Equal(t, n, read)
	last := notices()[len(notices())-1]
	assert.Equal(t, reader.Notice{Kind: reader.NoticeExited, Time: last.Time, PID: int32(os.Getpid())}, last)
}

// TestMemoryRegisteredAgain: an event that is not wanted stays off when the program closes it and registers it again, although
// its name matches what the program has been told.
func TestMemoryRegisteredAgain(t *testing.T) {
	testscale.HostOnly(t)
	p := provider(t)
	wanted, other := register(t, p, "mem_again_a"), register(t, p, "mem_again_b")
	r, _ := openMemory(t, reader.Options{Selection: reader.Selection{Events: []string{"mem_again"}, Excludes: []string{"*_b"}}, Poll: time.Millisecond})
	assert.True(t, wanted.Enabled())
	assert.False(t, other.Enabled())
	require.NoError(t, other.Close())
	other = register(t, p, "mem_again_b")
	poll(t, r, func() bool { return !write(t, other) })
	assert.False(t, other.Enabled())
	assert.True(t, wanted.Enabled())
	require.NoError(t, wanted.Close())
	wanted = register(t, p, "mem_again_a")
	assert.True(t, wanted.Enabled())
}

// TestMemoryNotReadForLong: a Reader that was stopped for so long that programs have disabled its events says so. The counts are exact
// before and after that.
func TestMemoryNotReadForLong(t *testing.T) {
	testscale.HostOnly(t)
	logger := slog.New(memoryProgram(t, "mem_long"))
	r, notices := openMemory(t, reader.Options{Selection: reader.Selection{Events: []string{"mem_long_warn", "mem_long_info"}}, BufferSize: 4096})
	logger.Warn("before")
	var ev record.Record
	require.NoError(t, r.Next(&ev))
	assert.Equal(t, "before", ev.Message)
	st, err := r.Stats()
	require.NoError(t, err)
	assert.False(t, st.Total.AtLeast)

	expire(t)
	testscale.Eventually(t, func() bool {
		logger.Warn("full")
		return !logger.Enabled(t.Context(), slog.LevelWarn)
	}, "the program does not disable the event")
	for range 10 {
		logger.Warn("in no count")
	}
	poll(t, r, func() bool { return logger.Enabled(t.Context(), slog.LevelWarn) })
	logger.Info("after")
	assert.Contains(t, rest(t, r), "after")
	names := map[string]bool{}
	for _, n := range notices() {
		if n.Kind == reader.NoticeDisabled {
			names[n.Event] = true
			assert.Positive(t, n.Gap)
		}
	}
	assert.Equal(t, map[string]bool{"user_events:mem_long_warn": true, "user_events:mem_long_info": true}, names)
	st, err = r.Stats()
	require.NoError(t, err)
	assert.True(t, st.Total.AtLeast)
	assert.Positive(t, st.Total.Lost)
	assert.Equal(t, st.Total.Matched, st.Total.Read+st.Total.Lost)
}

// TestMemoryCountsNext: a reader that counts returns no events, and counts all, while Stats is called.
func TestMemoryCountsNext(t *testing.T) {
	testscale.HostOnly(t)
	p := provider(t)
	e := register(t, p, "mem_counted")
	r, _ := openMemory(t, reader.Options{Selection: reader.Selection{Events: []string{"mem_counted"}}, Read: reader.ReadCounts, Poll: time.Millisecond})
	for range 100 {
		require.True(t, write(t, e))
	}
	r.SetDeadline(time.Now().Add(5 * time.Millisecond))
	require.ErrorIs(t, r.Next(new(record.Record)), os.ErrDeadlineExceeded)
	r.SetDeadline(testscale.Deadline())
	var wg sync.WaitGroup
	wg.Go(func() {
		assert.ErrorIs(t, r.Next(new(record.Record)), io.EOF)
	})
	for range 100 {
		_, err := r.Stats()
		require.NoError(t, err)
	}
	require.NoError(t, r.Stop())
	wg.Wait()
	st, err := r.Stats()
	require.NoError(t, err)
	assert.EqualValues(t, 100, st.Total.Matched)
	assert.Zero(t, st.Selected)
}

// TestMemoryConcurrently: the methods of a reader are called at the same time, while programs come and go.
func TestMemoryConcurrently(t *testing.T) {
	testscale.HostOnly(t)
	for _, mode := range []reader.ReadMode{reader.ReadStream, reader.ReadSnapshot, reader.ReadCounts} {
		t.Run(fmt.Sprint(mode), func(t *testing.T) {
			o := reader.Options{Selection: reader.Selection{Events: []string{"mem_busy"}}, Read: mode, Poll: time.Millisecond, BufferSize: 16 << 10}
			o.Transport, o.Processes = reader.TransportMemory, []int{os.Getpid()}
			r, err := reader.Open(&o)
			require.NoError(t, err)
			ended := make(chan struct{})
			var wg sync.WaitGroup
			repeat := func(do func()) {
				wg.Go(func() {
					for {
						select {
						case <-ended:
							return
						default:
							do()
						}
					}
				})
			}
			rounds := testscale.CountConcurrent(100, 30)
			wg.Go(func() {
				for range rounds {
					p, err := uevents.Open(&uevents.Options{Transport: uevents.TransportMemory})
					assert.NoError(t, err)
					h, err := sloghandler.New("mem_busy", &sloghandler.Options{Provider: p})
					assert.NoError(t, err)
					for range 100 {
						slog.New(h).Info("hello")
					}
					assert.NoError(t, errors.Join(h.Close(), p.Close()))
				}
				assert.NoError(t, r.Stop())
				close(ended)
			})
			wg.Go(func() {
				if mode == reader.ReadSnapshot {
					return
				}
				for ev := new(record.Record); ; {
					err := r.Next(ev)
					if errors.Is(err, io.EOF) {
						return
					}
					if !errors.Is(err, os.ErrDeadlineExceeded) && assert.NoError(t, err) {
						assert.Equal(t, "hello", ev.Message)
					}
				}
			})
			repeat(func() {
				st, err := r.Stats()
				assert.NoError(t, err)
				assert.Equal(t, st.Total.Matched, st.Total.Read+st.Total.Lost+st.Total.Pending+st.Total.Overwritten)
			})
			repeat(func() { r.SetDeadline(time.Now().Add(time.Millisecond)) })
			repeat(func() { r.AttachProcess(os.Getpid()) })
			if mode == reader.ReadSnapshot {
				repeat(func() {
					assert.NoError(t, r.Snapshot(func(ev *record.Record) error {
						assert.Equal(t, "hello", ev.Message)
						return nil
					}))
				})
			}
			wg.Wait()
			for range 3 {
				wg.Go(func() { assert.NoError(t, r.Close()) })
				wg.Go(func() { assert.NoError(t, r.Stop()) })
				wg.Go(func() { r.AttachProcess(os.Getpid()) })
				wg.Go(func() { r.SetDeadline(time.Now()) })
			}
			wg.Wait()
			_, err = r.Stats()
			assert.NoError(t, err)
		})
	}
}

// TestMemoryBubble: program and reader in a bubble of testing/synctest, whose time passes while both wait.
func TestMemoryBubble(t *testing.T) {
	testscale.HostOnly(t)
	for _, mode := range []reader.ReadMode{reader.ReadStream, reader.ReadSnapshot} {
		synctest.Test(t, func(t *testing.T) {
			logger := slog.New(memoryProgram(t, "mem_bubble"))
			r, _ := openMemory(t, reader.Options{Selection: reader.Selection{Events: []string{"mem_bubble"}}, Read: mode})
			begin := time.Now()
			go func() {
				time.Sleep(time.Hour) //nolint:forbidigo // in a synctest bubble
				logger.Info("hello")
			}()
			if mode == reader.ReadSnapshot {
				time.Sleep(2 * time.Hour) //nolint:forbidigo // in a synctest bubble
				n := 0
				require.NoError(t, r.Snapshot(func(*record.Record) error { n++; return nil }))
				assert.Equal(t, 1, n)
				return
			}
			r.SetDeadline(time.Time{})
			var ev record.Record
			require.NoError(t, r.Next(&ev))
			assert.Equal(t, "hello", ev.Message)
			assert.WithinRange(t, time.Now(), begin.Add(time.Hour), begin.Add(time.Hour+time.Second))
		})
	}
}

// envMany makes the test's program one with many events, which ends with its input.
const envMany = "READER_TEST_MANY"

// TestMemoryTooMany: Options.MaxEvents limits the events of each program alone, and the notices name those beyond it.
func TestMemoryTooMany(t *testing.T) {
	testscale.HostOnly(t)
	p := provider(t)
	if os.Getenv(envMany) != "" {
		for i := range 5 {
			register(t, p, fmt.Sprintf("mem_many_%d", i))
		}
		fmt.Println("ready")
		_, _ = io.Copy(io.Discard, os.Stdin) // until the test ends
		return
	}
	many := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$")
	many.Env = append(os.Environ(), envMany+"=1")
	input, err := many.StdinPipe()
	require.NoError(t, err)
	output, err := many.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, many.Start())
	defer func() {
		require.NoError(t, input.Close())
		require.NoError(t, many.Wait())
	}()
	ready, err := bufio.NewReader(output).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "ready\n", ready)
	var events []*uevents.Event
	for i := range 3 {
		events = append(events, register(t, p, fmt.Sprintf("mem_few_%d", i)))
	}
	var beyond []string
	r, err := reader.Open(&reader.Options{
		Selection: reader.Selection{Events: []string{"mem_many", "mem_few"}, Processes: []int{many.Process.Pid, os.Getpid()}}, MaxEvents: 3, Transport: reader.TransportMemory,
		Notify: func(n reader.Notice) {
			assert.ErrorIs(t, n.Err, reader.ErrTooManyEvents)
			assert.EqualError(t, n.Err, fmt.Sprintf("too many events: 3 of process %d are attached already, without %s", many.Process.Pid, n.Event))
			beyond = append(beyond, n.Event)
		},
	})
	require.NoError(t, err)
	for _, e := range events {
		assert.True(t, e.Enabled(), e.Name())
	}
	st, err := r.Stats()
	require.NoError(t, err)
	assert.Len(t, st.Events, 6)
	r.CheckNotices()
	assert.Equal(t, []string{"user_events:mem_many_3", "user_events:mem_many_4"}, beyond)
	require.NoError(t, r.Close())
}

// TestMemoryBusy: who finds all sessions of a program taken learns which tools have them.
func TestMemoryBusy(t *testing.T) {
	testscale.HostOnly(t)
	register(t, provider(t), "mem_busy")
	for range layout.Sessions {
		openMemory(t, reader.Options{Selection: reader.Selection{Events: []string{"mem_busy"}}})
	}
	r, notices := openMemory(t, reader.Options{Selection: reader.Selection{Events: []string{"mem_busy"}}})
	r.CheckNotices()
	require.Len(t, notices(), 1)
	assert.Regexp(t, fmt.Sprintf(`: all sessions of the program are taken by process %d \(reader\.test.*\)$`, os.Getpid()), notices()[0].Err.Error())
}

// TestMemoryVersion: memory of another version is reported once, with the name of its program, however many locks that has.
func TestMemoryVersion(t *testing.T) {
	testscale.HostOnly(t)
	for range 2 {
		fd, err := sys.CreateMemory(layout.DataName, layout.FileSize, 0o600)
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, sys.Close(fd)) })
		b, err := sys.MapWritable(fd, layout.DataSize)
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, sys.UnmapBytes(b)) })
		data := layout.DataAt(b)
		data.Magic, data.Version = [8]byte([]byte(layout.Magic)), layout.Version+1
		require.NoError(t, sys.SealMemory(fd, true))
		require.NoError(t, syscall.Flock(fd, syscall.LOCK_EX))
	}
	r, notices := openMemory(t, reader.Options{Selection: reader.Selection{Events: []string{"*"}}, Poll: time.Millisecond})
	looks := 0 // of which each but the first one reports it again, if one does
	poll(t, r, func() bool { looks++; return len(notices()) > 0 && looks > 3 })
	require.Len(t, notices(), 1)
	assert.Regexp(t, fmt.Sprintf(`^process %d \(reader\.test.*\): its events in shared memory cannot be used: \S+ has version 2, this tool knows 1: use a newer version of this tool$`,
		os.Getpid()), notices()[0].Err.Error())
}
