package processcontext

import (
	"bufio"
	"bytes"
	"io"
	"strconv"
	"strings"
)

const (
	maxMaps       = 16 << 20 // bytes of /proc/PID/maps, of which the kernel's default number of mappings takes less than half
	maxCandidates = 8
)

// find returns where the mappings begin whose names in /proc/PID/maps are those of a context.
func find(maps io.Reader) (list []uint64, err error) {
	lines := bufio.NewScanner(io.LimitReader(maps, maxMaps))
	for lines.Scan() && len(list) < maxCandidates {
		if !bytes.Contains(lines.Bytes(), []byte(name)) {
			continue
		}
		if begin, ok := parseMapping(lines.Text()); ok {
			list = append(list, begin)
		}
	}
	return list, lines.Err()
}

// parseMapping parses a line of /proc/PID/maps, and reports whether the mapping has the name of a context:
//
//	7f0c00000000-7f0c00001000 rw-p 00000000 00:01 1042   /memfd:OTEL_CTX (deleted)
func parseMapping(line string) (begin uint64, ok bool) {
	const columns = 5 // before the name
	for i := range columns {
		column, rest, _ := strings.Cut(line, " ")
		if i == 0 {
			first, last, _ := strings.Cut(column, "-")
			var err, err2 error
			var end uint64
			begin, err = strconv.ParseUint(first, 16, 64)
			end, err2 = strconv.ParseUint(last, 16, 64)
			if err != nil || err2 != nil || end < begin || end-begin < headerSize {
				return 0, false
			}
		}
		line = strings.TrimLeft(rest, " ")
	}
	switch strings.TrimSuffix(line, " (deleted)") {
	case "/memfd:" + name, "[anon:" + name + "]", "[anon_shmem:" + name + "]":
		return begin, true
	}
	return 0, false
}
