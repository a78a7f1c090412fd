//go:build linux && !386 && !arm && !mips && !mipsle

package memory

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/memory/layout"
	"github.com/userevents/userevents-go/internal/memory/ring"
	"github.com/userevents/userevents-go/internal/sys"
	"github.com/userevents/userevents-go/internal/testscale"
)

// cgroup is a control group that counts memory.
type cgroup struct {
	t              *testing.T
	dir            string
	limits, counts string // files
}

func newCgroup(t *testing.T) *cgroup {
	t.Helper()
	asRoot(t)
	root := "/sys/fs/cgroup"
	g := &cgroup{t: t, limits: "memory.max", counts: "memory.current"}
	if old := filepath.Join(root, "memory"); exists(old) { // control groups of version 1
		root, g.limits, g.counts = old, "memory.limit_in_bytes", "memory.usage_in_bytes"
	} else if testscale.Guest() {
		require.NoError(t, os.WriteFile(filepath.Join(root, "cgroup.subtree_control"), []byte("+memory"), 0))
	}
	g.dir = filepath.Join(root, fmt.Sprintf("uevents-test-%d-%s", os.Getpid(), rand.Text()))
	if err := os.Mkdir(g.dir, 0o700); err != nil && !testscale.Guest() {
		t.Skip("needs root: to make control groups")
	} else {
		require.NoError(t, err)
	}
	t.Cleanup(func() {
		testscale.Eventually(t, func() bool { return os.Remove(g.dir) == nil }, "%s has processes", g.dir)
	})
	if !exists(filepath.Join(g.dir, g.limits)) {
		t.Skip("not on this kernel: new control groups do not count memory")
	}
	return g
}

func (g *cgroup) limit(n int) {
	g.t.Helper()
	require.NoError(g.t, os.WriteFile(filepath.Join(g.dir, g.limits), []byte(strconv.Itoa(n)), 0))
}

// stat returns a line of memory.stat.
func (g *cgroup) stat(name string) int {
	g.t.Helper()
	text, err := os.ReadFile(filepath.Join(g.dir, "memory.stat"))
	require.NoError(g.t, err)
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			n, err := strconv.Atoi(strings.TrimSpace(value))
			require.NoError(g.t, err)
			return n
		}
	}
	require.Fail(g.t, "memory.stat has no "+name)
	return 0
}

// usage returns all memory of the group, the kernel's included.
func (g *cgroup) usage() int {
	g.t.Helper()
	text, err := os.ReadFile(filepath.Join(g.dir, g.counts))
	require.NoError(g.t, err)
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	require.NoError(g.t, err)
	return n
}

// setup puts a child into the group, before it has memory of its own.
func (g *cgroup) setup() string { return "cgroup=" + g.dir + " exec" }

// TestWhoPays: a program with little memory fills a ring of 64 MiB. The memory is the tool's, and is given back when both have ended.
func TestWhoPays(t *testing.T) {
	if testscale.Race {
		t.Skip("not under the race detector: it takes more memory than the program may have")
	}
	const all = 64 << 20
	programs, tools := newCgroup(t), newCgroup(t)
	programs.limit(24 << 20)
	// One processor, so that there is one ring, which the program fills.
	program := startReady(t, childOptions{role: "program", setup: programs.setup(), env: []string{"GOMAXPROCS=1"}})
	require.Equal(t, "quiet", program.asked("quiet"))
	tool := startReady(t, childOptions{role: "tool", setup: tools.setup()})
	shared, used, paid := programs.stat("shmem"), programs.usage(), tools.stat("shmem")
	require.Equal(t, "attached", tool.asked("attach %d %d", program.pid, all))
	// The kernel adds to memory.stat now and then.
	testscale.Eventually(t, func() bool { return tools.stat("shmem")-paid >= all }, "the tool does not have the whole ring")
	const size = 8 << 10
	records := 2 * all / size
	require.Equal(t, "wrote", program.asked("write %d %d", records, size))
	t.Logf("program: %d KiB of shared memory more, %d KiB of all; tool: %d KiB of shared memory",
		(programs.stat("shmem")-shared)>>10, (programs.usage()-used)>>10, tools.stat("shmem")>>10)
	assert.Less(t, programs.stat("shmem")-shared, 64<<10)
	assert.Less(t, programs.usage()-used, 1<<20)

	var n, lost int
	_, err := fmt.Sscanf(tool.asked("read %d", records), "read %d lost %d", &n, &lost)
	require.NoError(t, err)
	each := int(ring.Size(size - 4)) // without the write index
	assert.Greater(t, n*each, all-each, "the ring was full")
	assert.Equal(t, records, n+lost)
	require.Equal(t, "detached", tool.asked("detach"))
	tool.end()
	program.end()
	testscale.Eventually(t, func() bool { return tools.stat("shmem") == 0 && programs.stat("shmem") == 0 }, "memory is left")
}

// TestUnpopulated: the program opens no session that would cost it more than 1 MiB, and counts its records as lost.
func TestUnpopulated(t *testing.T) {
	for _, c := range []struct {
		size, rings int
		populated   int // bytes
		refused     syscall.Errno
	}{
		{1 << 20, 1, 0, 0},
		{256 << 10, 4, 0, 0},
		{2 << 20, 1, 0, syscall.ENOMEM},
		{1 << 20, 2, 0, syscall.ENOMEM},
		{64 << 20, 1, 0, syscall.ENOMEM},
		{1 << 20, 64, 0, syscall.ENOMEM},
		{2 << 20, 1, 2<<20 - 4096, syscall.ENOMEM},
		{2 << 20, 1, 2 << 20, 0},
		{4096, 64, 0, 0},
		{128 << 20, 1, 0, syscall.EINVAL},
		{64 << 20, 2, 0, syscall.EINVAL},
	} {
		t.Run(fmt.Sprintf("%d of %d KiB, %d KiB there", c.rings, c.size>>10, c.populated>>10), func(t *testing.T) {
			p := openSubject(t)
			defer p.close(t)
			s := process().files
			if c.populated > 0 {
				m, err := sys.MapPart(s.dataFD, layout.RingsOffset(0)+layout.RingsStart, c.populated, true)
				require.NoError(t, err)
				defer func() { require.NoError(t, sys.UnmapBytes(m)) }()
			}
			asked, shown := p.ask(c.size, c.rings)
			before := residentHere(t)
			p.write(3, 12)
			generation := asked.Generation.Load()
			assert.Equal(t, generation, shown.Noticed.Load())
			assert.EqualValues(t, c.refused, shown.Refused.Load())
			if c.refused == 0 {
				assert.Equal(t, generation, shown.Opened.Load())
				assert.Zero(t, s.data.Lost[0][shown.Bank.Load()][0].Load())
			} else {
				assert.NotEqual(t, generation, shown.Opened.Load())
				assert.EqualValues(t, 3, s.data.Lost[0][shown.Bank.Load()][0].Load())
				assert.LessOrEqual(t, residentHere(t)-before, 16<<10, "looking brings nothing into memory")
			}
		})
	}
}

// ask does what docs/wire-formats.md says of a tool that attaches, but for the memory of its rings.
func (p *subject) ask(size, rings int) (asked *layout.Session, shown *layout.Opened) {
	p.leave = occupy(0)
	f := process().files
	asked, shown = &f.control.Sessions[0], &f.data.Sessions[0]
	asked.RingSize.Store(uint64(size))
	asked.Rings.Store(uint32(rings))
	asked.Generation.Add(1)
	f.control.Claimed.Or(1)
	f.control.Requests[0].Or(1)
	p.word.Or(p.r.Mask)
	return asked, shown
}

// occupy takes a session as tools do: the program sees that its tool lives.
func occupy(session int) (leave func()) {
	fd, _, err := sys.OpenMemory(link(process().files.controlFD), true, true)
	check(err)
	if !sys.LockByte(fd, session) {
		check(errors.New("the session is taken"))
	}
	return func() { check(sys.Close(fd)) }
}

// TestUnpopulatedUser: a program that changed its user knows which memory is there.
func TestUnpopulatedUser(t *testing.T) {
	asRoot(t)
	program := startReady(t, childOptions{role: "program"})
	require.Equal(t, "uid 1000", program.asked("uid 1000"))
	require.Equal(t, "refused 12", program.asked("unpopulated"))
	program.end()
}

// TestToolWithoutMemory: a tool whose control group has too little memory for its ring is killed, and no other process.
func TestToolWithoutMemory(t *testing.T) {
	if testscale.Race {
		t.Skip("not under the race detector: it takes more memory than the tool may have")
	}
	tools := newCgroup(t)
	program := startReady(t, childOptions{role: "program"})
	victim := startReady(t, childOptions{role: "tool", setup: tools.setup()})
	tools.limit(32 << 20)
	victim.tell("attach %d %d", program.pid, 64<<20)
	assert.False(t, victim.out.Scan())
	require.ErrorContains(t, victim.cmd.Wait(), "signal: killed")
	other := startReady(t, childOptions{role: "tool"})
	mustServe(t, other, program)
	other.end()
	program.end()
}

// residentHere returns how many bytes of the two files this process has mapped in memory.
func residentHere(t *testing.T) int {
	t.Helper()
	n, err := residentBytes(os.Getpid())
	require.NoError(t, err)
	return n
}

// residentBytes returns how much of the files a process has in memory.
func residentBytes(pid int) (n int, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps", pid))
	var found, ours bool
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		switch {
		case strings.Contains(fields[0], "-"):
			ours = len(fields) > 5 && strings.HasPrefix(fields[5], "/memfd:userevents-")
			found = found || ours
		case ours && fields[0] == "Rss:":
			kib, err := strconv.Atoi(fields[1])
			if err != nil {
				return 0, err
			}
			n += kib << 10
		}
	}
	if !found {
		err = errors.Join(err, errors.New("the files are not mapped"))
	}
	return n, err
}
