package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/record"
)

// numbered is a feed of n records with numbers, and about so many bytes each.
func numbered(n, size int) *feed {
	f := newFeed()
	for i := range n {
		ev := newRecord(fmt.Sprintf("%06d", i), record.SeverityInfo)
		ev.Name, ev.Monotonic = "rotated_x", uint64(i+1)
		ev.SetFields([]record.Field{{Name: "text", Value: record.StringValue(strings.Repeat("x", size))}, {Name: "a", Value: record.Uint64Value(uint64(i))}})
		f.events = append(f.events, ev)
	}
	f.stats.Events[0].Matched, f.stats.Events[0].Read = uint64(n), uint64(n)
	return f
}

// rotated returns the files of a rotation, whose names begin with base, and of each the numbers of its records.
func rotated(t *testing.T, base string) (files []string, numbers [][]int) {
	t.Helper()
	files, err := filepath.Glob(base + "-*")
	require.NoError(t, err)
	for _, file := range files {
		st, err := os.Stat(file)
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o600), st.Mode().Perm(), "logs have secrets")
		list := []int{}
		if strings.HasSuffix(file, ".txt") {
			content, err := os.ReadFile(file)
			require.NoError(t, err)
			for _, m := range regexp.MustCompile(`(?m) a=(\d+)$`).FindAllStringSubmatch(string(content), -1) {
				list = append(list, atoi(t, m[1]))
			}
		} else {
			code, out, errs := (&feed{}).run(t, "replay", file, "-o", "{{.a}}")
			require.Equal(t, exitOK, code, errs)
			for line := range strings.Lines(out) {
				list = append(list, atoi(t, strings.TrimSpace(line)))
			}
		}
		numbers = append(numbers, list)
	}
	return files, numbers
}

func atoi(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.ReplaceAll(s, ",", ""))
	require.NoError(t, err)
	return n
}

var (
	wroteFiles = regexp.MustCompile(`(?m)^wrote (\d+) files?, (/.+?)(?: to (/.+?))?: \S+ \S+ .*?; ([\d,]+) recorded = ([\d,]+) kept(?: \+ ([\d,]+) removed with (\d+) old files?)?(?:;|$)`)
	fileName   = regexp.MustCompile(`-\d{8}T\d{6}\.\d{3}Z\.(jsonl|txt)$`)
)

// TestRotation: each file has about its size and can be read alone, and all have the records in their order, the newest if there is a
// limit of their number.
func TestRotation(t *testing.T) {
	const n, size = 3000, 500
	for _, name := range []string{"x.jsonl", "x.txt", ".jsonl"} {
		for _, limit := range []int{0, 2, 5} {
			t.Run(fmt.Sprint(name, limit), func(t *testing.T) {
				path := filepath.Join(t.TempDir(), name)
				require.NoError(t, os.WriteFile(path, []byte("earlier"), 0o600))
				code, _, errs := numbered(n, size).run(t, "record", "a", "-o", path, "--max-size", "128K", "--max-files", strconv.Itoa(limit))
				require.Equal(t, exitOK, code, errs)
				content, err := os.ReadFile(path)
				require.NoError(t, err)
				assert.Equal(t, "earlier", string(content), "FILE itself is not written")
				base, suffix, err := nameParts(path, "")
				require.NoError(t, err)
				if name == ".jsonl" { // the time alone is the name
					files, err := filepath.Glob(base + "2*")
					require.NoError(t, err)
					assert.NotEmpty(t, files)
					return
				}
				files, numbers := rotated(t, strings.TrimSuffix(base, "-"))
				if limit > 0 {
					assert.Len(t, files, limit)
				}
				assert.Greater(t, len(files), 1)
				assert.True(t, slices.IsSorted(files))
				var all []int
				for i, file := range files {
					assert.Regexp(t, fileName, file)
					st, err := os.Stat(file)
					require.NoError(t, err)
					assert.Less(t, st.Size(), int64(128<<10+2*size+1000), file)
					if i < len(files)-1 {
						assert.Greater(t, st.Size(), int64(100<<10), file)
					}
					assert.NotEmpty(t, numbers[i])
					all = append(all, numbers[i]...)
				}
				first := n - len(all)
				for i, number := range all {
					require.Equal(t, first+i, number)
				}
				if limit == 0 {
					assert.Zero(t, first)
				}
				m := wroteFiles.FindStringSubmatch(errs)
				require.NotNil(t, m, errs)
				assert.Equal(t, len(files), atoi(t, m[1]))
				assert.Equal(t, files[0], m[2])
				assert.Equal(t, files[len(files)-1], m[3])
				assert.Equal(t, n, atoi(t, m[4]))
				assert.Equal(t, len(all), atoi(t, m[5]))
				if first > 0 {
					assert.Equal(t, first, atoi(t, m[6]))
				}
				if suffix != ".txt" {
					assert.Contains(t, errs, "; show them: uevents replay "+base+"*"+suffix+"\n")
					code, out, errs := (&feed{}).run(t, append([]string{"replay", "-o", "{{.a}}"}, files...)...)
					assert.Equal(t, exitOK, code, errs)
					assert.Equal(t, len(all), strings.Count(out, "\n"))
				}
			})
		}
	}
}

// TestRotationOfLarge: a record that is larger than the limit has a file of its own.
func TestRotationOfLarge(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.jsonl")
	code, _, errs := numbered(5, 100<<10).run(t, "record", "a", "-o", path, "--max-size", "64K")
	require.Equal(t, exitOK, code, errs)
	_, numbers := rotated(t, strings.TrimSuffix(path, ".jsonl"))
	assert.Equal(t, [][]int{{0}, {1}, {2}, {3}, {4}}, numbers)

	// Few records are in one file, and an interrupt before the first one leaves one.
	for _, n := range []int{0, 1} {
		path := filepath.Join(t.TempDir(), "x.jsonl")
		code, _, errs := numbered(n, 10).run(t, "record", "a", "-o", path, "--max-size", "64K", "--max-files", "2")
		require.Equal(t, exitOK, code, errs)
		files, numbers := rotated(t, strings.TrimSuffix(path, ".jsonl"))
		assert.Len(t, files, 1)
		assert.Len(t, numbers[0], n)
		assert.Contains(t, errs, fmt.Sprintf("; %d recorded = %d kept; show", n, n))
	}
}

// TestRotationFormat: a name may have another end than that of its format, which --format gives.
func TestRotationFormat(t *testing.T) {
	for name, want := range map[string][2]string{
		"d/x.log": {"d/x-", ".log"}, "x": {"x-", ""}, "d.e/x": {"d.e/x-", ""}, "x.perf.data": {"x.perf-", ".data"}, "x.jsonl": {"x-", ".jsonl"}, "d/.jsonl": {"d/", ".jsonl"},
	} {
		base, suffix, err := nameParts(name, "jsonl")
		require.NoError(t, err)
		assert.Equal(t, want, [2]string{base, suffix}, name)
	}
}

// TestRotationKeepsOthers: neither files of an earlier recording nor those that have been moved or replaced are removed, and the records
// add up.
func TestRotationKeepsOthers(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.jsonl")
	for range 2 {
		code, _, errs := numbered(300, 1000).run(t, "record", "a", "-o", path, "--max-size", "64K", "--max-files", "2")
		require.Equal(t, exitOK, code, errs)
	}
	files, _ := rotated(t, filepath.Join(dir, "x"))
	assert.Len(t, files, 4)

	f := numbered(300, 1000)
	rest := f.events[150:]
	f.events = f.events[:150]
	before := files
	replaced := ""
	f.more = func(f *feed) {
		files, _ := filepath.Glob(filepath.Join(dir, "x-*"))
		files = slices.DeleteFunc(files, func(name string) bool { return slices.Contains(before, name) })
		assert.Len(t, files, 3)
		assert.NoError(t, os.Rename(files[0], filepath.Join(dir, "archived.jsonl")))
		replaced = files[1]
		assert.NoError(t, os.Remove(replaced))
		assert.NoError(t, os.WriteFile(replaced, []byte("other"), 0o600))
		f.events, f.more = rest, stop
	}
	code, _, errs := f.run(t, "record", "a", "-o", path, "--max-size", "64K", "--max-files", "3")
	require.Equal(t, exitOK, code, errs)
	content, err := os.ReadFile(replaced)
	require.NoError(t, err)
	assert.Equal(t, "other", string(content))
	assert.FileExists(t, filepath.Join(dir, "archived.jsonl"))
	for _, name := range before {
		assert.FileExists(t, name)
	}
	m := regexp.MustCompile(`; 300 recorded = (\d+) kept(?: \+ (\d+) removed with \d+ old files?)? \+ (\d+) in 2 missing files that this recording did not remove;`).FindStringSubmatch(errs)
	require.NotNil(t, m, errs)
	sum := atoi(t, m[1]) + atoi(t, m[3])
	if m[2] != "" {
		sum += atoi(t, m[2])
	}
	assert.Equal(t, 300, sum)
}

// TestRotationGone: a recording whose directory is moved away ends, and all its files are there.
func TestRotationGone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	require.NoError(t, os.Mkdir(dir, 0o700))
	f := numbered(300, 1000)
	rest := f.events[100:]
	f.events = f.events[:100]
	f.more = func(f *feed) {
		assert.NoError(t, os.Rename(dir, dir+"2"))
		f.events, f.more = rest, stop
	}
	code, _, errs := f.run(t, "record", "a", "-o", filepath.Join(dir, "x.jsonl"), "--max-size", "64K", "--max-files", "2")
	assert.Equal(t, exitError, code)
	assert.Contains(t, errs, "uevents: the file was removed while it was written: ")
	assert.Contains(t, errs, " read (the file has a part of them)")
	_, numbers := rotated(t, filepath.Join(dir+"2", "x"))
	require.Len(t, numbers, 2)
	assert.NotEmpty(t, numbers[0])
	assert.NotEmpty(t, numbers[1])
}

// TestRotationFails: an error of beginning another file, or of removing one, ends the recording, and what is there stays.
func TestRotationFails(t *testing.T) {
	for want, spoil := range map[string]func(*rotation){
		"beginning another file: open .*/nosuch/": func(r *rotation) { r.base = filepath.Join(filepath.Dir(r.base), "nosuch") + "/" },
		"removing the oldest file: lstat .*": func(r *rotation) {
			if len(r.closed) == 1 {
				r.closed[0].path += "/x" // it is no directory
			}
		},
	} {
		flags := rotationFlags{maxSize: "64K", maxFiles: 2, size: 64 << 10}
		f := numbered(300, 1000)
		path := filepath.Join(t.TempDir(), "x.jsonl")
		r, err := flags.create(t.Context(), newEnv(), path, &recordingOptions{})
		require.NoError(t, err)
		written := 0
		for i := range f.events {
			if i == 100 {
				spoil(r)
			}
			if err = r.Write(&f.events[i]); err != nil {
				break
			}
			written++
		}
		require.Regexp(t, want, err)
		assert.Less(t, written, 300)
		assert.NoError(t, r.Close())
		files, numbers := rotated(t, strings.TrimSuffix(path, ".jsonl"))
		sum := 0
		for _, list := range numbers {
			assert.NotEmpty(t, list, "no file without records stays")
			sum += len(list)
		}
		assert.Equal(t, written, sum)
		assert.LessOrEqual(t, len(files), 2)
		assert.Regexp(t, `: \d+\.\d kB, a part of 1 process(; .*)?; show them: `, r.wrote("1 process"))
	}
}

// TestRotationClock: names sort like the records, also if the clock is set back, and no file of another recording is written.
func TestRotationClock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.jsonl")
	e := newEnv()
	now := time.Date(2026, 11, 27, 3, 12, 0, 0, time.UTC)
	e.now = func() time.Time { now = now.Add(-time.Hour); return now }
	flags := rotationFlags{maxSize: "64K", size: 64 << 10}
	other := strings.TrimSuffix(path, ".jsonl") + "-20261127T021200.001Z.jsonl"
	require.NoError(t, os.WriteFile(other, []byte("other"), 0o600))
	r, err := flags.create(t.Context(), e, path, &recordingOptions{})
	require.NoError(t, err)
	f := numbered(300, 1000)
	for i := range f.events {
		require.NoError(t, r.Write(&f.events[i]))
	}
	require.NoError(t, r.Close())
	content, err := os.ReadFile(other)
	require.NoError(t, err)
	assert.Equal(t, "other", string(content))
	require.NoError(t, os.Remove(other))
	files, numbers := rotated(t, strings.TrimSuffix(path, ".jsonl"))
	assert.Greater(t, len(files), 3)
	assert.True(t, slices.IsSorted(slices.Concat(numbers...)))
}

// TestRotationNamesTaken: files of another user with the names of the next moments do not end a recording.
func TestRotationNamesTaken(t *testing.T) {
	base := filepath.Join(t.TempDir(), "a-")
	at := time.Date(2026, 11, 27, 3, 12, 0, 0, time.UTC)
	for i := range 1000 {
		require.NoError(t, os.WriteFile(base+at.Add(time.Duration(i)*time.Millisecond).Format(fileTime)+".jsonl", nil, 0o600))
	}
	r := &rotation{ctx: t.Context(), now: func() time.Time { return at }, o: &recordingOptions{}, base: base, suffix: ".jsonl"}
	file, err := r.begin()
	require.NoError(t, err)
	require.NoError(t, file.Close())
	assert.Regexp(t, `/a-20261127T031200\.\d{3}Z-[A-Z2-7]{8}\.jsonl$`, file.path)
}
