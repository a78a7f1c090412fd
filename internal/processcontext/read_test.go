package processcontext

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/leakcheck"
)

const at = 0x1000 // where the header of memory is

// memory is that of a process: the bytes at an address, which may change before each read. The rest is not mapped.
type memory struct {
	parts  map[uint64][]byte
	change func(reads int)
	reads  int
}

var errUnmapped = errors.New("not mapped")

func (m *memory) ReadAt(b []byte, offset int64) (int, error) {
	m.reads++
	if m.change != nil {
		m.change(m.reads)
	}
	part := m.parts[uint64(offset)]
	if n := copy(b, part); n < len(b) {
		return n, errUnmapped
	}
	return len(b), nil
}

func makeHeader(version, size uint32, publishedAt, payload uint64) []byte {
	b := []byte(name)
	b = binary.NativeEndian.AppendUint32(b, version)
	b = binary.NativeEndian.AppendUint32(b, size)
	b = binary.NativeEndian.AppendUint64(b, publishedAt)
	return binary.NativeEndian.AppendUint64(b, payload)
}

// TestReadHostile: no memory of a process does harm, and each error says what is wrong.
func TestReadHostile(t *testing.T) {
	size := uint32(len(protoc))
	for _, c := range []struct {
		header  []byte
		payload []byte
		want    string
	}{
		{makeHeader(2, size, 1, 0x5000), protoc, ""},
		{makeHeader(2, size, math.MaxUint64, 0x5000), protoc, ""},
		{nil, protoc, "address 0x1000: not mapped"},
		{makeHeader(2, size, 1, 0x5000)[:31], protoc, "address 0x1000: not mapped"},
		{make([]byte, headerSize), protoc, `the mapping begins with "\x00\x00`},
		{append([]byte("otel_ctx"), makeHeader(2, size, 1, 0x5000)[8:]...), protoc, `the mapping begins with "otel_ctx"`},
		{makeHeader(1, size, 1, 0x5000), protoc, "the version is 1: unsupported operation"},
		{makeHeader(3, size, 1, 0x5000), protoc, "the version is 3"},
		{makeHeader(2, size, 0, 0x5000), protoc, "the process changes its context all the time"},
		{makeHeader(2, 0, 1, 0x5000), protoc, "the payload has 0 bytes; it can have 1 to 65536"},
		{makeHeader(2, maxPayload+1, 1, 0x5000), make([]byte, maxPayload+1), "the payload has 65537 bytes"},
		{makeHeader(2, math.MaxUint32, 1, 0x5000), protoc, "the payload has 4294967295 bytes"},
		{makeHeader(2, size+1, 1, 0x5000), protoc, "address 0x5000: not mapped"},
		{makeHeader(2, size, 1, 0), protoc, "address 0x0: not mapped"},
		{makeHeader(2, size, 1, math.MaxInt64), protoc, "address 0x7fffffffffffffff: not mapped"},
		{makeHeader(2, size, 1, math.MaxInt64+1), protoc, "nothing of the process can be at address 0x8000000000000000"},
		{makeHeader(2, size, 1, 0xffffffffff600000), protoc, "nothing of the process can be at"},
		{makeHeader(2, size, 1, at), nil, "address 0x1000: not mapped"},
		{makeHeader(2, headerSize, 1, at), nil, "the payload is not a protobuf message"}, // the header itself
		{makeHeader(2, maxPayload, 1, 0x5000), make([]byte, maxPayload), "the payload is not a protobuf message"},
	} {
		m := &memory{parts: map[uint64][]byte{at: c.header, 0x5000: c.payload}}
		got, err := readAt(m, at)
		if c.want == "" {
			require.NoError(t, err)
			assert.Equal(t, allTypes, got)
			continue
		}
		assert.ErrorContains(t, err, c.want)
		assert.Empty(t, got)
	}
}

// TestReadChanging: a payload is read again if the header changed meanwhile, and for so long only.
func TestReadChanging(t *testing.T) {
	first, second := must(encode([]Attribute{{"n", "1"}})), must(encode([]Attribute{{"n", "two"}}))
	header := func(publishedAt, payload uint64, b []byte) []byte {
		return makeHeader(2, uint32(len(b)), publishedAt, payload)
	}
	for name, change := range map[string]func(parts map[uint64][]byte, reads int){
		"between header and payload": func(parts map[uint64][]byte, reads int) {
			if reads == 2 {
				parts[at] = header(2, 0x6000, second)
				delete(parts, 0x5000)
			}
		},
		"behind the payload": func(parts map[uint64][]byte, reads int) {
			if reads == 3 {
				parts[at] = header(2, 0x6000, second)
			}
		},
		"at the same time": func(parts map[uint64][]byte, reads int) { // the time was read last
			if reads == 1 {
				parts[at] = makeHeader(2, uint32(len(first)), 2, 0x6000)
			} else {
				parts[at] = header(2, 0x6000, second)
			}
		},
		"not ready": func(parts map[uint64][]byte, reads int) {
			if reads == 1 {
				parts[at] = header(0, 0x6000, second)
			} else {
				parts[at] = header(2, 0x6000, second)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			parts := map[uint64][]byte{at: header(1, 0x5000, first), 0x5000: first, 0x6000: second}
			got, err := readAt(&memory{parts: parts, change: func(reads int) { change(parts, reads) }}, at)
			require.NoError(t, err)
			assert.Equal(t, []Attribute{{"n", "two"}}, got)
		})
	}

	parts := map[uint64][]byte{0x5000: first}
	m := &memory{parts: parts, change: func(reads int) { parts[at] = header(uint64(reads), 0x5000, first) }}
	_, err := readAt(m, at)
	require.ErrorIs(t, err, errChanging)
	assert.Equal(t, 3*attempts, m.reads)
	parts = map[uint64][]byte{}
	m = &memory{parts: parts, change: func(reads int) { parts[at] = header(uint64(reads), 0x5000, first) }}
	_, err = readAt(m, at)
	require.ErrorIs(t, err, errChanging, "the payload is not there, but may be next time")
}

// fake makes a directory like /proc/PID. Its memory is a file.
func fake(t *testing.T, maps string, memory []byte) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "maps"), []byte(maps), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "mem"), memory, 0o600))
	return dir
}

// TestRead: the first mapping with a context counts, whatever others have its name.
func TestRead(t *testing.T) {
	const mapping = "1000-2000 rw-p 00000000 00:00 0 [anon:OTEL_CTX]\n"
	contents := make([]byte, 0x3000)
	copy(contents[at:], makeHeader(2, uint32(len(protoc)), 1, 0x1800))
	copy(contents[0x1800:], protoc)
	got, err := Read(fake(t, "0-1000 rw-p 00000000 00:00 0 [anon:OTEL_CTX]\n9000-a000 rw-p 00000000 00:00 0 [anon:OTEL_CTX]\n"+mapping, contents))
	require.NoError(t, err)
	assert.Equal(t, allTypes, got)

	_, err = Read(fake(t, "1000-2000 rw-p 00000000 00:00 0 [heap]\n", contents))
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = Read(fake(t, mapping, nil))
	require.ErrorIs(t, err, io.EOF, "as of a process that has exited")
	_, err = Read(fake(t, strings.Repeat("x", 1<<20), contents))
	require.Error(t, err)
	for _, missing := range []string{"maps", "mem"} {
		dir := fake(t, mapping, contents)
		require.NoError(t, os.Remove(filepath.Join(dir, missing)))
		_, err = Read(dir)
		require.ErrorIs(t, err, fs.ErrNotExist)
	}
	_, err = Read(filepath.Join(t.TempDir(), "none"))
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// FuzzRead: a process may have any header and any payload, which it may change.
func FuzzRead(f *testing.F) {
	f.Add(makeHeader(2, uint32(len(protoc)), 1, 0x5000), protoc, uint64(0x5000))
	f.Add(makeHeader(2, 32, 1, at), protoc, uint64(at))
	f.Fuzz(func(t *testing.T, header, payload []byte, address uint64) {
		m := &memory{parts: map[uint64][]byte{address: payload, at: header}}
		list, err := readAt(m, at)
		require.True(t, err == nil || list == nil)
		require.LessOrEqual(t, m.reads, 3*attempts)
	})
}

func TestFind(t *testing.T) {
	for line, want := range map[string][]uint64{
		"7f0c00000000-7f0c00001000 rw-p 00000000 00:01 1042                       /memfd:OTEL_CTX (deleted)": {0x7f0c00000000},
		"7f0c00000000-7f0c00001000 rw-p 00000000 00:01 1042   /memfd:OTEL_CTX":                               {0x7f0c00000000},
		"7f0c00000000-7f0c00001000 rw-p 00000000 00:00 0      [anon:OTEL_CTX]":                               {0x7f0c00000000},
		"f7000000-f7001000 rw-p 00000000 00:01 12345678901     [anon_shmem:OTEL_CTX]":                        {0xf7000000},
		"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [anon:OTEL_CTX]":                            {0xffffffffff600000},
		"7f0c00000000-7f0c00001000 rw-p 00000000 00:01 1042   /tmp/memfd:OTEL_CTX":                           nil,
		"7f0c00000000-7f0c00001000 rw-p 00000000 00:01 1042   /memfd:OTEL_CTX2 (deleted)":                    nil,
		"7f0c00000000-7f0c00001000 rw-p 00000000 00:01 1042   /memfd:OTEL_CTX (deleted) x":                   nil,
		"7f0c00000000-7f0c00001000 rw-p 00000000 00:01 1042   /x /memfd:OTEL_CTX":                            nil,
		"7f0c00000000-7f0c00001000 rw-p 00000000 00:01 1042   OTEL_CTX":                                      nil,
		"7f0c00000000-7f0c0000001f rw-p 00000000 00:00 0 [anon:OTEL_CTX]":                                    nil, // too small
		"7f0c00000000-7f0000000000 rw-p 00000000 00:00 0 [anon:OTEL_CTX]":                                    nil,
		"7f0c00000000 rw-p 00000000 00:00 0 [anon:OTEL_CTX]":                                                 nil,
		"x-7f0c00001000 rw-p 00000000 00:00 0 [anon:OTEL_CTX]":                                               nil,
		"[anon:OTEL_CTX]":     nil,
		"1-2 [anon:OTEL_CTX]": nil,
		"7f0c00000000-7f0c00001000 rw-p 00000000 00:00 0": nil,
		"": nil,
	} {
		got, err := find(strings.NewReader("00400000-00401000 r-xp 00000000 08:01 12  /bin/x\n" + line + "\n"))
		require.NoError(t, err)
		assert.Equal(t, want, got, line)
	}
}

// TestFindBounded: a process can have very many mappings, or many of that name.
func TestFindBounded(t *testing.T) {
	var maps strings.Builder
	for i := range 100 {
		fmt.Fprintf(&maps, "%x-%x rw-p 00000000 00:00 0 [anon:OTEL_CTX]\n", i*0x1000, (i+1)*0x1000)
	}
	got, err := find(strings.NewReader(maps.String()))
	require.NoError(t, err)
	assert.Len(t, got, maxCandidates)

	endless := &endless{}
	got, err = find(endless)
	require.NoError(t, err)
	assert.Empty(t, got)
	assert.LessOrEqual(t, endless.read, maxMaps)

	_, err = find(strings.NewReader(strings.Repeat("x", 1<<20)))
	assert.Error(t, err, "no line of the kernel is so long")
}

// endless has lines without end.
type endless struct{ read int }

func (e *endless) Read(b []byte) (int, error) {
	e.read += len(b)
	return copy(b, strings.Repeat("1000-2000 rw-p 00000000 00:00 0 [anon:x]\n", len(b)/40+1)), nil
}

var _ io.Reader = new(endless)

// FuzzFind: the mappings of any text are in it.
func FuzzFind(f *testing.F) {
	f.Add("7f0c00000000-7f0c00001000 rw-p 00000000 00:01 1042                       /memfd:OTEL_CTX (deleted)\n")
	f.Add("1-30 a b c d [anon:OTEL_CTX]\n2-40 a b c d [anon_shmem:OTEL_CTX]")
	f.Fuzz(func(t *testing.T, maps string) {
		list, _ := find(strings.NewReader(maps))
		require.LessOrEqual(t, len(list), min(maxCandidates, strings.Count(maps, name)))
		for _, at := range list {
			require.Contains(t, strings.ToLower(maps), fmt.Sprintf("%x-", at))
		}
	})
}

// envTask names the task that a child process runs in place of the tests.
const envTask = "PROCESSCONTEXT_TASK"

var tasks = map[string]func(){}

// TestMain fails the package when its tests leave something behind.
func TestMain(m *testing.M) {
	if task, ok := tasks[os.Getenv(envTask)]; ok {
		task()
		return
	}
	leakcheck.Main(m)
}
