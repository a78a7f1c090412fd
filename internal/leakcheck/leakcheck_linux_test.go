package leakcheck_test

import (
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/leakcheck"
	"github.com/userevents/userevents-go/internal/words"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// childTask names the function that a child process runs in place of its tests.
const childTask = "LEAKCHECK_TASK"

// tests is what TestMain gets, with what the tests do and say.
type tests func() int

func (f tests) Run() int { return f() }

func TestMain(m *testing.M) {
	if task, ok := tasks[os.Getenv(childTask)]; ok {
		if task.says != "" { // it does not go away
			leakcheck.SetAttempts(10)
		}
		leakcheck.Main(task.run)
	}
	leakcheck.Main(m)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

var forever = make(chan bool)

// tasks leave things behind, or do not.
var tasks = map[string]struct {
	run  tests
	want int
	says string
}{
	"nothing":    {func() int { return 0 }, 0, ""},
	"failed":     {func() int { return 3 }, 3, ""},
	"word":       {func() int { must(words.New()); return 0 }, 1, "1 enable word\n"},
	"freed word": {func() int { words.Free(must(words.New())); return 0 }, 0, ""},
	"descriptor": {func() int { must(syscall.Open(os.DevNull, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)); return 0 }, 1, "1 descriptor of /dev/null\n"},
	"forgotten file": {func() int { // which a cleanup of Go closes
		must(os.Open(os.DevNull))
		return 0
	}, 0, ""},
	"mapping": {func() int {
		f := must(os.Open(must(os.Executable())))
		must(syscall.Mmap(int(f.Fd()), 0, os.Getpagesize(), syscall.PROT_READ, syscall.MAP_SHARED))
		_ = f.Close()
		return 0
	}, 1, "1 mapping of /"},
	"goroutine": {func() int { go wait(); return 0 }, 1, "1 goroutine (goroutine "},
	"ending goroutine": {func() int {
		done := make(chan bool)
		go func() { <-done }()
		close(done)
		return 0
	}, 0, ""},
	"thread": {func() int {
		locked := make(chan bool)
		go wait(runtime.LockOSThread, func() { close(locked) })
		<-locked
		return 0
	}, 1, "1 thread, locked by a goroutine (goroutine "},
	"signals": {func() int {
		c := make(chan os.Signal, 1)
		signal.Notify(c, os.Interrupt)
		signal.Stop(c)
		return 0
	}, 0, ""},
	"registrar": {func() int { // is kept
		k := ueventstest.NewKernel(nil)
		p := k.Provider()
		must(p.Register(tracepoint.Declaration{Name: "ev"}, nil))
		if p.Close() != nil || k.Close() != nil {
			return 3
		}
		return 0
	}, 0, ""},
}

func wait(before ...func()) {
	for _, f := range before {
		f()
	}
	<-forever
}

// TestLeaks: each kind is found, and nothing is found where there is nothing.
func TestLeaks(t *testing.T) {
	for name, task := range tasks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(must(os.Executable()))
			cmd.Env = append(os.Environ(), childTask+"="+name)
			out, err := cmd.CombinedOutput()
			assert.Equal(t, task.want, cmd.ProcessState.ExitCode(), "%v\n%s", err, out)
			if task.says == "" {
				assert.NotContains(t, string(out), "leave behind")
				return
			}
			require.Contains(t, string(out), "leakcheck: the tests leave behind:\n\t"+task.says)
		})
	}
}
