package attach

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// between is a list of locks that calls a function behind each part, until it returns true.
type between struct {
	*os.File

	call func(part string) (done bool)
}

func (b *between) Read(part []byte) (int, error) {
	n, err := b.File.Read(part)
	if b.call != nil && b.call(string(part[:n])) {
		b.call = nil
	}
	return n, err
}

// TestFindBesideLocks: locks that go while the kernel lists them, which makes it skip others, hide no program, and each is listed once.
func TestFindBesideLocks(t *testing.T) {
	dir := t.TempDir()
	held := map[string]*os.File{} // by inode
	for i := range 200 {          // of two parts and more; few enough for a limit of 256 descriptors
		f, err := os.Create(filepath.Join(dir, strconv.Itoa(i)))
		require.NoError(t, err)
		defer f.Close()
		require.NoError(t, syscall.Flock(int(f.Fd()), syscall.LOCK_EX))
		var st syscall.Stat_t
		require.NoError(t, syscall.Fstat(int(f.Fd()), &st))
		held[strconv.FormatUint(st.Ino, 10)] = f
	}
	own := func(list []Candidate) (inodes []string) {
		for _, c := range list {
			if inode := c.File[strings.LastIndexByte(c.File, ':')+1:]; int(c.PID) == os.Getpid() && held[inode] != nil {
				inodes = append(inodes, inode)
			}
		}
		return inodes
	}
	unlocked := false
	call := func(part string) (done bool) {
		const n = 20
		list := own(candidates(part))
		if len(list) < n { // a part with locks of others
			return false
		}
		for _, inode := range list[:n] {
			assert.NoError(t, syscall.Flock(int(held[inode].Fd()), syscall.LOCK_UN))
		}
		unlocked = true
		return true
	}
	list, err := find(func() (io.ReadCloser, error) {
		f, err := os.Open("/proc/locks")
		b := &between{f, call}
		call = nil
		return b, err
	})
	require.NoError(t, err)
	require.True(t, unlocked)
	var want []string
	for inode := range held {
		want = append(want, inode)
	}
	assert.ElementsMatch(t, want, own(list), "those that have gone were listed before")
}

// TestFindReads: a list of one part is read once, one of several parts until it is the same again, and one that changes some times.
func TestFindReads(t *testing.T) {
	for name, c := range map[string]struct {
		line  func(n int) string
		parts bool
		reads int
	}{
		"empty":           {func(int) string { return "" }, false, 1},
		"one part":        {func(n int) string { return lockLine(n) }, false, 1},
		"several parts":   {func(int) string { return lockLine(1) }, true, 2},
		"one more later":  {func(n int) string { return lockLine(min(n, 3)) }, true, 4},
		"changes forever": {lockLine, true, mostLists},
	} {
		t.Run(name, func(t *testing.T) {
			reads := 0
			list, err := find(func() (io.ReadCloser, error) {
				reads++
				var r io.Reader = strings.NewReader(c.line(reads))
				if c.parts {
					r = iotest.OneByteReader(r)
				}
				return io.NopCloser(r), nil
			})
			require.NoError(t, err)
			assert.Equal(t, c.reads, reads)
			lines := map[string]bool{}
			for n := range reads {
				lines[c.line(n+1)] = true
			}
			delete(lines, "")
			assert.Len(t, list, len(lines))
		})
	}
	_, err := find(func() (io.ReadCloser, error) { return nil, fs.ErrPermission })
	require.ErrorIs(t, err, fs.ErrPermission)
	_, err = find(func() (io.ReadCloser, error) { return io.NopCloser(iotest.ErrReader(fs.ErrInvalid)), nil })
	require.ErrorIs(t, err, fs.ErrInvalid)
}

func lockLine(n int) string { return fmt.Sprintf("1: FLOCK  ADVISORY  WRITE 812 00:01:%d 0 EOF\n", n) }

// TestCandidates: locks of whole files that a process holds for writing are candidates.
func TestCandidates(t *testing.T) {
	for _, text := range []string{
		"1: FLOCK  ADVISORY  READ 812 00:01:2067 0 EOF\n", "1: POSIX  ADVISORY  WRITE 812 00:01:2067 0 EOF\n",
		"1: FLOCK  ADVISORY  WRITE 0 00:01:2067 0 EOF\n", "1: FLOCK  ADVISORY  WRITE -1 00:01:2067 0 EOF\n", "1: FLOCK  ADVISORY  WRITE x 00:01:2067 0 EOF\n",
		"1: -> FLOCK  ADVISORY  WRITE 812 00:01:2067 0 EOF\n", "1: FLOCK  ADVISORY  WRITE 812\n", "\n",
	} {
		assert.Empty(t, candidates(text), text)
	}
	assert.Equal(t, []Candidate{{1, "00:01:2067"}}, candidates("1: FLOCK  ADVISORY  WRITE 1 00:01:2067\n"))
}

// TestRingSize: the more programs there are, the smaller are the rings of further ones, so that many have some, and all together never take
// more than their memory.
func TestRingSize(t *testing.T) {
	p := &Programs{o: ProgramsOptions{RingMemory: 48 << 20}}
	total, last := 0, defaultRingSize
	for {
		size := p.ringSize()
		if size == 0 {
			break
		}
		assert.LessOrEqual(t, size, last)
		total, last = total+size, size
		p.all = append(p.all, &traced{session: &Session{size: uint64(size / 2), count: 2}})
	}
	assert.LessOrEqual(t, total, p.o.RingMemory)
	assert.Greater(t, total, p.o.RingMemory-leastRing)
	assert.Equal(t, leastRing, last)
	assert.Greater(t, len(p.all), 100)
	assert.Equal(t, defaultRingSize, new(Programs).ringSize(), "without a limit")
	small := &Programs{o: ProgramsOptions{RingMemory: 1 << 20, Options: Options{RingSize: MinRing}}}
	assert.Equal(t, MinRing, small.ringSize(), "they are not made larger")
}

// TestMissing: what counts is the effective set.
func TestMissing(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	b, err := os.ReadFile("/proc/thread-self/status")
	require.NoError(t, err)
	_, after, _ := strings.Cut(string(b), "CapEff:\t")
	effective, err := strconv.ParseUint(after[:16], 16, 64)
	require.NoError(t, err)
	missing := Missing()
	assert.Equal(t, effective&(1<<19) == 0, slices.Contains(missing, "CAP_SYS_PTRACE"))
	assert.Equal(t, effective&(1<<2) == 0, slices.Contains(missing, "CAP_DAC_READ_SEARCH"))
	assert.ErrorIs(t, Refused(2), fs.ErrPermission)
}
