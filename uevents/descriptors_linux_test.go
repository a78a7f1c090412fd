package uevents_test

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/internal/tracefs"
	"github.com/userevents/userevents-go/internal/words"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

func gettid() int { return syscall.Gettid() }

// entries returns the number of entries of a directory.
func entries(dir string) int {
	list, _ := os.ReadDir(dir) // fails for none of those that tests look at
	return len(list)
}

// anyThread reports whether any of the threads is alive.
func anyThread(ids []int) bool {
	for _, id := range ids {
		if id == os.Getpid() {
			continue // Go parks the main thread instead
		}
		if _, err := os.Stat("/proc/self/task/" + strconv.Itoa(id)); err == nil {
			return true
		}
	}
	return false
}

// traps are pipes that take every descriptor number that becomes free. A byte in one of
// them was written to a descriptor that had been closed.
type traps struct {
	t      *testing.T
	stop   atomic.Bool
	wg     sync.WaitGroup
	rounds atomic.Int32
}

func setTraps(t *testing.T) *traps {
	tr := &traps{t: t}
	tr.wg.Go(func() {
		for !tr.stop.Load() {
			tr.round()
			tr.rounds.Add(1)
		}
	})
	return tr
}

func (tr *traps) round() {
	var pipes [16][2]int
	for i := range pipes {
		if !assert.NoError(tr.t, syscall.Pipe2(pipes[i][:], syscall.O_CLOEXEC|syscall.O_NONBLOCK)) {
			return
		}
	}
	time.Sleep(time.Millisecond) //nolint:forbidigo // stray writes come meanwhile
	var b [1]byte
	for _, p := range pipes {
		_, err := syscall.Read(p[0], b[:])
		assert.ErrorIs(tr.t, err, syscall.EAGAIN, "a write reached a foreign descriptor")
		assert.NoError(tr.t, syscall.Close(p[0]))
		assert.NoError(tr.t, syscall.Close(p[1]))
	}
}

func (tr *traps) release() {
	tr.stop.Store(true)
	tr.wg.Wait()
}

// TestCloseWhileWriting closes providers under writers that hold on to them, while others
// are after every free descriptor number.
func TestCloseWhileWriting(t *testing.T) {
	fs := kerneltest.Require(t)
	name := newName()
	keep := kernel{fs}.provider(t)
	mustRegister(t, keep, name, nil)
	i := kerneltest.NewInstance(t, fs, 64)
	i.Attach(name)
	tr := setTraps(t)
	defer tr.release()
	for range testscale.CountConcurrent(100, 40) {
		p, err := uevents.Open(nil)
		require.NoError(t, err)
		ev := mustRegister(t, p, name, nil)
		var wg sync.WaitGroup
		var writing atomic.Int32
		for range 4 {
			wg.Go(func() {
				for n := 0; ; n++ {
					if _, err := ev.WriteRecord(buffer("x")); err != nil {
						assert.ErrorIs(t, err, uevents.ErrClosed)
						return
					}
					if n == 0 {
						writing.Add(1)
					}
				}
			})
		}
		rounds := tr.rounds.Load()
		testscale.Eventually(t, func() bool { return writing.Load() == 4 && tr.rounds.Load() > rounds }, "a writer does not begin")
		require.NoError(t, p.Close())
		wg.Wait()
	}
}

// TestStress writes from 8 goroutines while tracing tools attach and detach and providers are closed and opened again.
//
// Two events are written. One has a tool all the time beside those that attach and detach: what
// that tool counts must be what Write reported as written. The other is enabled only now
// and then. There the kernel itself loses records: between the moment a tool is counted
// and the moment its buffer takes records, at both ends, it answers success and records
// nothing.
func TestStress(t *testing.T) {
	fs := kerneltest.Require(t)
	cycles := 300
	if testing.Short() {
		cycles = 100
	}
	always, now := newName(), newName()
	type pair struct {
		p           *uevents.Provider
		always, now *uevents.Event
	}
	open := func() *pair {
		p, err := uevents.Open(nil)
		require.NoError(t, err)
		return &pair{p, mustRegister(t, p, always+" u64 n", nil), mustRegister(t, p, now+" u64 n", nil)}
	}
	var current atomic.Pointer[pair]
	current.Store(open())
	counter, toggled, toggledNow := kerneltest.NewInstance(t, fs, 512), kerneltest.NewInstance(t, fs, 64), kerneltest.NewInstance(t, fs, 512)
	counter.Attach(always)

	tr := setTraps(t)
	defer tr.release()
	var stop atomic.Bool
	var wg sync.WaitGroup
	var disabled, closed, turns atomic.Uint64
	for range 8 {
		wg.Go(func() {
			buf := buffer("12345678")
			write := func(ev *uevents.Event) {
				switch written, err := ev.WriteRecord(buf); {
				case written:
				case err == nil:
					disabled.Add(1)
				case errors.Is(err, uevents.ErrClosed):
					closed.Add(1)
				default:
					assert.NoError(t, err)
					stop.Store(true)
				}
			}
			for !stop.Load() {
				c := current.Load()
				write(c.always)
				write(c.now)
				turns.Add(1)
			}
		})
	}
	pairs := []*pair{current.Load()}
	attached := false
	for cycle := 0; cycle < cycles && !stop.Load(); cycle++ {
		// Some writers write both events meanwhile, from begin to end.
		before := turns.Load()
		testscale.Eventually(t, func() bool { return turns.Load() > before+100 || stop.Load() }, "the writers stand still")
		if attached {
			toggled.Detach()
			toggledNow.Detach()
		} else {
			toggled.Attach(always)
			toggledNow.Attach(now)
		}
		attached = !attached
		if cycle%5 == 0 {
			next := open()
			pairs = append(pairs, next)
			assert.NoError(t, current.Swap(next).p.Close())
		}
	}
	stop.Store(true)
	wg.Wait()
	assert.NoError(t, current.Load().p.Close())
	var written, writtenNow uint64
	for _, c := range pairs {
		written += c.always.Stats().Written
		writtenNow += c.now.Stats().Written
	}
	recorded := func(i *kerneltest.Instance) uint64 {
		assert.Zero(t, i.Stats().Dropped)
		return i.Stats().Entries + i.Stats().Overrun + i.Stats().CommitOverrun
	}
	t.Logf("%d cycles, %d turns; always traced: %d written, %d recorded (%d of them overwritten); traced now and then: %d written, %d recorded; %d not traced, %d closed",
		cycles, turns.Load(), written, recorded(counter), counter.Stats().Overrun, writtenNow, recorded(toggledNow), disabled.Load(), closed.Load())
	assert.Equal(t, written, recorded(counter))
	assert.LessOrEqual(t, recorded(toggledNow), writtenNow)
	assert.NotZero(t, recorded(toggledNow))
	assert.NotZero(t, disabled.Load())
}

// TestWriteSizes: nothing that Write calls a success is missing from the tool, for any
// size.
func TestWriteSizes(t *testing.T) {
	fs := kerneltest.Require(t)
	ev := mustRegister(t, kernel{fs}.provider(t), newName(), nil)
	i := kerneltest.NewInstance(t, fs, 1024)
	i.Attach(ev.Name())
	perf := kerneltest.AttachPerf(t, fs, ev.Name())
	buf := make([]byte, uevents.IndexSize+70_000)
	sizes, accepted := 0, 0
	for size := 0; size <= 70_000; size += 1 + size/5000*97 {
		sizes++
		_, err := ev.WriteRecord(buf[:uevents.IndexSize+size])
		if err != nil {
			require.ErrorIs(t, err, uevents.ErrTooLarge)
			require.Greater(t, size, tracepoint.MaxPayload)
			continue
		}
		accepted++
		require.Len(t, i.Records(), 1, "ftrace, %d bytes", size)
		require.Len(t, perf.Records(), 1, "perf, %d bytes", size)
	}
	assert.Equal(t, tracepoint.MaxPayload+1, accepted)
	t.Logf("%d sizes from 0 to 70,000 bytes tried, %d accepted and found in both tools", sizes, accepted)
}

// TestClosedByOthers: other code of the program closes the provider's descriptor, whose number then becomes that of another file.
// EBADF does not mean "disabled" then.
func TestClosedByOthers(t *testing.T) {
	w := realKernel(t)
	before := descriptors(t)
	ev := mustRegister(t, w.provider(t), newName(), nil)
	w.attach(t, ueventstest.Ftrace, ev.Name())
	fd := -1
	for n, file := range descriptors(t) {
		if before[n] != file && filepath.Base(file) == tracefs.DataFile {
			fd = n
		}
	}
	kept, err := syscall.Dup(fd)
	require.NoError(t, err)
	null, err := os.Open(os.DevNull)
	require.NoError(t, err)
	require.NoError(t, syscall.Close(fd))
	for refused := range uint64(2) {
		written, err := ev.WriteRecord(buffer("x"))
		assert.False(t, written)
		assert.ErrorIs(t, err, syscall.EBADF)
		assert.ErrorContains(t, err, "other code of the program has closed the descriptor")
		assert.True(t, ev.Enabled())
		assert.Equal(t, uevents.EventStats{Refused: refused + 1}, ev.Stats())
		require.NoError(t, syscall.Dup3(int(null.Fd()), fd, syscall.O_CLOEXEC))
	}
	require.NoError(t, syscall.Dup3(kept, fd, syscall.O_CLOEXEC))
	require.NoError(t, errors.Join(syscall.Close(kept), null.Close()))
	mustWrite(t, ev, buffer("x"))
}

// descriptors returns the files of the process's descriptors.
func descriptors(t *testing.T) map[int]string {
	list, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	files := map[int]string{}
	for _, entry := range list {
		n, err := strconv.Atoi(entry.Name())
		require.NoError(t, err)
		files[n], _ = os.Readlink("/proc/self/fd/" + entry.Name()) // that of reading the directory is closed
	}
	return files
}

// churnRounds is for runs by hand: 10,000 rounds take minutes in a guest without KVM.
var churnRounds = flag.Int("churn", 0, "how often TestOpenRegisterClose opens, registers and closes; 0: 100 times, fewer with -short and in guests")

// holdings is what a process has of the machine.
type holdings struct{ words, pages, mappings, descriptors, threads int }

// TestOpenRegisterClose: a program may open, register 100 events and close as often as it
// likes. Nothing grows.
func TestOpenRegisterClose(t *testing.T) {
	eachWorld(t, func(t *testing.T, w world) {
		names := make([]string, 100)
		for i := range names {
			names[i] = newName() // the same in each round: kernels before 6.4 keep every event
		}
		open := func() *uevents.Provider {
			return w.unowned(t)
		}
		round := func() {
			p := open()
			groups := []*uevents.Group{p.NewGroup(), p.NewGroup()}
			events := make([]*uevents.Event, len(names))
			for i, name := range names {
				var err error
				events[i], err = p.Register(tracepoint.Declaration{Name: name}, in(groups[:i%3]...))
				require.NoError(t, err)
			}
			for i, ev := range events {
				if i%2 == 0 { // the others with the provider
					require.NoError(t, ev.Close())
				}
			}
			require.NoError(t, p.Close())
		}
		round()
		rounds := cmp.Or(*churnRounds, testscale.CountConcurrent(100, 20))
		before := hold(t)
		for i := range rounds {
			round()
			if i%100 != 0 {
				continue
			}
			now := hold(t)
			if i%500 == 0 {
				t.Logf("round %d: %+v", i, now) // a guest that prints nothing counts as hung
			}
			require.Equal(t, before.words, now.words, i)
			require.Equal(t, before.pages, now.pages, i)
			require.Equal(t, before.descriptors, now.descriptors, i)
		}
		after := hold(t)
		t.Logf("%d rounds: %+v before, %+v after", rounds, before, after)
		assert.Equal(t, before.words, after.words)
		assert.Equal(t, before.pages, after.pages)
		assert.Equal(t, before.descriptors, after.descriptors)
		// Go starts threads as it needs them, and maps memory for its heap: a few, however many
		// rounds there are.
		assert.LessOrEqual(t, after.threads, before.threads+16)
		assert.LessOrEqual(t, after.mappings, before.mappings+16)
	})
}

// hold returns what this process has now.
func hold(t *testing.T) (h holdings) {
	t.Helper()
	h.words, h.pages = words.Usage()
	maps, err := os.ReadFile("/proc/self/maps")
	require.NoError(t, err)
	h.mappings = strings.Count(string(maps), "\n")
	h.descriptors, h.threads = entries("/proc/self/fd"), entries("/proc/self/task")
	return h
}

const childNoFile = "USER_EVENTS_TEST_NOFILE"

// TestOutOfDescriptors: an Open that fails for want of descriptors works as soon as there are
// some. The limit is a process's, and so is what a failure could leave behind: each number of
// descriptors that may be left, from none to enough, has a process in which it comes first.
func TestOutOfDescriptors(t *testing.T) {
	if left := os.Getenv(childNoFile); left != "" {
		n, err := strconv.ParseUint(left, 10, 64)
		require.NoError(t, err)
		require.NoError(t, openWith(n))
		return
	}
	kerneltest.Require(t)
	exe, err := os.Executable()
	require.NoError(t, err)
	for left := range 5 {
		cmd := exec.Command(exe, "-test.run=^"+t.Name()+"$", "-test.v")
		cmd.Env = append(os.Environ(), childNoFile+"="+strconv.Itoa(left))
		out, err := cmd.CombinedOutput()
		assert.NoError(t, err, "%s", out)
		assert.Contains(t, string(out), "the next Open worked", "with %d descriptors left", left)
	}
}

// openWith opens a provider while the process may have only so many descriptors more, and
// again without that limit.
func openWith(left uint64) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	first, err := syscall.Open(os.DevNull, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	_ = syscall.Close(first)
	low := limit
	low.Cur = uint64(first) + left
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &low); err != nil {
		return err
	}
	p, openErr := uevents.Open(nil)
	if openErr != nil && !errors.Is(openErr, syscall.EMFILE) {
		return openErr
	}
	if left == 0 && openErr == nil {
		return errors.New("the limit was not reached")
	}
	if err := errors.Join(syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit), p.Close()); err != nil {
		return err
	}
	if p, err = uevents.Open(nil); err != nil {
		return fmt.Errorf("with %d descriptors left Open failed with %w, and after that: %w", left, openErr, err)
	}
	ev, err := p.Register(tracepoint.Declaration{Name: "ue_test_nofile"}, nil)
	if err := errors.Join(err, ev.Close(), p.Close()); err != nil {
		return err
	}
	fmt.Println("the next Open worked")
	return nil
}
