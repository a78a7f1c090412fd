//go:build linux && !386 && !arm && !mips && !mipsle

package memory

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/testscale"
)

// TestIdleCost: a program that no tool has attached to has two descriptors more, and little memory.
func TestIdleCost(t *testing.T) {
	before, err := openFiles(os.Getpid())
	require.NoError(t, err)
	p := openSubject(t)
	defer p.close(t)
	after, err := openFiles(os.Getpid())
	require.NoError(t, err)
	assert.Len(t, after, len(before)+2)
	first := residentHere(t)
	t.Logf("%d KiB with an event", first>>10)
	assert.LessOrEqual(t, first, 64<<10)
	for i := range 63 {
		word, err := p.f.NewWord()
		require.NoError(t, err)
		defer p.f.FreeWord(word)
		_, err = p.f.Register(backend.Request{Command: "ue_env_" + string(rune('a'+i/26)) + string(rune('a'+i%26)) + " u64 a; u64 b", Word: word})
		require.NoError(t, err)
		defer func() { require.NoError(t, p.f.Unregister(word, 0)) }()
	}
	t.Logf("%d KiB with 64", residentHere(t)>>10)
	assert.LessOrEqual(t, residentHere(t), 64<<10)
}

// calls counts the system calls of a program that strace runs, up to each line that it says.
func calls(t *testing.T, file string) (parts []map[string]int) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	name := regexp.MustCompile(`^\d+ +(?:<\.\.\. )?(\w+)(\(| resumed)`)
	part := map[string]int{}
	for line := range strings.Lines(string(text)) {
		m := name.FindStringSubmatch(line)
		if m == nil || m[2] != "(" { // signals, and the ends of calls that were interrupted
			continue
		}
		if strings.Contains(line, "write(1, ") {
			parts = append(parts, part)
			part = map[string]int{}
			continue
		}
		part[m[1]]++
	}
	return append(parts, part)
}

// TestSystemCalls counts the system calls of a first registration, of further ones, and of writing while the reader keeps up.
func TestSystemCalls(t *testing.T) {
	testscale.HostOnly(t)
	strace := testscale.NeedProgram(t, "strace")
	file := filepath.Join(t.TempDir(), "calls")
	program := startChild(t, childOptions{role: "steps", under: []string{strace, "-f", "-qq", "-o", file, "--"}})
	for _, step := range []string{"open", "register", "again"} {
		require.Equal(t, step, program.says())
	}
	program.ready()
	tool := startReady(t, childOptions{role: "tool"})
	require.Equal(t, "attached", tool.asked("attach %d %d", program.pid, 16<<20))
	const records = 20_000 // 64 bytes each: less than a ring
	require.Equal(t, "write", program.asked("write %d 44", records))
	require.Equal(t, "wrote", program.says())
	require.Equal(t, "read 20000 lost 0", tool.asked("read %d", records))
	tool.end()
	program.end()

	parts := calls(t, file)
	require.GreaterOrEqual(t, len(parts), 7)
	open, first, second, writing := parts[1], parts[2], parts[3], parts[5]
	t.Logf("Open: %v", open)
	t.Logf("first registration: %v", first)
	t.Logf("second registration: %v", second)
	t.Logf("%d records: %v", records, writing)
	assert.Equal(t, 1, open["memfd_create"])
	assert.Equal(t, 2, first["memfd_create"])
	assert.Empty(t, deliberate(second))
	total := 0
	for _, n := range writing {
		total += n
	}
	assert.Less(t, total, records/2, "no system call for each record")
	few := 0
	for _, n := range deliberate(writing) {
		few += n
	}
	assert.Less(t, few, 30, "the session is opened, and Go may need memory")
}

// deliberate returns the calls without those that threads of Go's runtime may do at any moment, the more the longer the program takes.
func deliberate(calls map[string]int) map[string]int {
	calls = maps.Clone(calls)
	for _, name := range []string{"futex", "nanosleep", "sched_yield", "tgkill", "getpid", "rt_sigreturn", "madvise", "epoll_pwait", "clone", "clone3", "gettid", "sigaltstack", "rt_sigprocmask"} {
		delete(calls, name)
	}
	return calls
}
