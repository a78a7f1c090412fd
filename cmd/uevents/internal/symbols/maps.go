package symbols

import (
	"bufio"
	"io"
	"strconv"
	"strings"
)

// Mapping is an executable mapping of a file in a process.
type Mapping struct {
	Start, End uint64 // addresses in the process
	Offset     uint64 // of Start in the file
	Path       string // as the process sees it; names such as [vdso] are not files
	Deleted    bool   // the file has no path any more
	Device     string // "MAJOR:MINOR", in hexadecimal
	Inode      uint64
}

// size returns how many bytes of memory the mapping takes, about.
func (m *Mapping) size() int { return 96 + len(m.Path) + len(m.Device) }

// Limits of a process.
const (
	maxMappings = 1 << 14  // some programs load code continuously
	maxMaps     = 16 << 20 // bytes read of /proc/PID/maps
)

// parseMaps parses the executable mappings in /proc/PID/maps, which are in order of address. It ends where it cannot read
// on: what it returns is right, as far as it goes.
func parseMaps(r io.Reader) (mappings []Mapping) {
	lines := bufio.NewReaderSize(io.LimitReader(r, maxMaps), 64<<10)
	for {
		b, err := lines.ReadSlice('\n')
		if err != nil {
			return mappings
		}
		line := string(b)
		// 7f1c-7f2d r-xp 00001000 fe:01 1234    /path with spaces (deleted)
		var fields [5]string
		rest := strings.TrimSuffix(line, "\n")
		for i := range fields {
			fields[i], rest, _ = strings.Cut(strings.TrimLeft(rest, " "), " ")
		}
		if len(fields[1]) < 3 || fields[1][2] != 'x' || len(mappings) == maxMappings {
			continue
		}
		from, to, _ := strings.Cut(fields[0], "-")
		start, err1 := strconv.ParseUint(from, 16, 64)
		end, err2 := strconv.ParseUint(to, 16, 64)
		offset, err3 := strconv.ParseUint(fields[2], 16, 64)
		inode, err4 := strconv.ParseUint(fields[4], 10, 64)
		if err1 != nil || err2 != nil || err3 != nil || err4 != nil || end <= start {
			continue
		}
		// The line would stay in memory as long as a part of it.
		m := Mapping{Start: start, End: end, Offset: offset, Device: strings.Clone(fields[3]), Inode: inode}
		path, deleted := strings.CutSuffix(unescape(strings.TrimLeft(rest, " ")), " (deleted)")
		m.Path, m.Deleted = strings.Clone(path), deleted
		mappings = append(mappings, m)
	}
}

// unescape reverses the only escape in this file: \012 is a newline.
func unescape(path string) string { return strings.ReplaceAll(path, `\012`, "\n") }

// isFile reports whether the mapping is a file. perf's name for anonymous memory is //anon.
func (m *Mapping) isFile() bool { return strings.HasPrefix(m.Path, "/") && m.Path != "//anon" }
