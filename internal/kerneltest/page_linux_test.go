package kerneltest

import (
	"encoding/binary"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/leakcheck"
	"github.com/userevents/userevents-go/internal/testscale"
)

// word appends a header, or another word of a page.
func word(page []byte, v uint32) []byte { return binary.NativeEndian.AppendUint32(page, v) }

func header(kind, delta uint32) uint32 { return kind | delta<<5 }

// newPage returns a page of what began at time 1000, with body.
func newPage(body []byte) []byte {
	page := binary.NativeEndian.AppendUint64(nil, 1000)
	page = binary.NativeEndian.AppendUint64(page, uint64(len(body))|1<<31) // a flag: events were missed
	return append(page, body...)
}

// entry appends what every event begins with, and a payload.
func entry(page []byte, id uint16, payload string) []byte {
	page = binary.NativeEndian.AppendUint16(page, id)
	page = append(page, 0, 0)
	return append(word(page, 42), payload...)
}

func TestParsePage(t *testing.T) {
	ids := map[uint16]string{7: "seven", 8: "eight"}
	record := func(event string, time uint64, payload string) Record {
		return Record{Event: event, CPU: 3, Time: time, PID: 42, Payload: append([]byte(nil), payload...)}
	}
	long := strings.Repeat("0123456789", 20)
	for _, c := range []struct {
		name string
		body []byte
		want []Record
	}{
		{"nothing", nil, nil},
		{"one", entry(word(nil, header(3, 5)), 7, "abcd"), []Record{record("seven", 1005, "abcd")}},
		{"without payload", entry(word(nil, header(2, 0)), 8, ""), []Record{record("eight", 1000, "")}},
		{
			"times add up",
			entry(word(entry(word(nil, header(3, 5)), 7, "abcd"), header(3, 6)), 8, "efgh"),
			[]Record{record("seven", 1005, "abcd"), record("eight", 1011, "efgh")},
		},
		{"large", entry(word(word(nil, header(typeArray, 1)), 4+8+200), 7, long), []Record{record("seven", 1001, long)}},
		{
			"time extended", entry(word(word(word(nil, header(typeTimeExtend, 3)), 2), header(3, 1)), 7, "abcd"),
			[]Record{record("seven", 1000+3+2<<27+1, "abcd")},
		},
		{
			"absolute time", entry(word(word(word(nil, header(typeTimeStamp, 3)), 2), header(3, 0)), 7, "abcd"),
			[]Record{record("seven", 3+2<<27, "abcd")},
		},
		{
			"given up", entry(word(append(word(word(nil, header(typePadding, 4)), 12), "12345678"...), header(3, 0)), 7, "abcd"),
			[]Record{record("seven", 1004, "abcd")},
		},
		{"padding", append(word(entry(word(nil, header(3, 5)), 7, "abcd"), header(typePadding, 0)), "what is left"...), []Record{record("seven", 1005, "abcd")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			records, err := parsePage(ids, 3, newPage(c.body))
			require.NoError(t, err)
			assert.Equal(t, c.want, records)
		})
	}

	for name, page := range map[string][]byte{
		"no header":           make([]byte, 15),
		"header without data": newPage(make([]byte, 8))[:16],
		"cut entry":           newPage(word(word(nil, header(3, 0)), 7)),
		"cut large entry":     newPage(word(word(nil, header(typeArray, 0)), 64)),
		"large without size":  newPage(word(nil, header(typeArray, 0))),
		"time without value":  newPage(word(nil, header(typeTimeExtend, 0))),
		"too long padding":    newPage(word(word(nil, header(typePadding, 1)), 64)),
		"entry too short":     newPage(word(word(nil, header(1, 0)), 7)),
		"entry of size 0":     newPage(word(word(nil, header(typeArray, 0)), 0)),
	} {
		_, err := parsePage(ids, 0, page)
		assert.ErrorIs(t, err, errCut, name)
	}
	_, err := parsePage(ids, 0, newPage(entry(word(nil, header(3, 5)), 9, "abcd")))
	assert.ErrorContains(t, err, "unknown event 9")
}

// TestParseRecordedPage parses what real kernels had in their buffers.
func TestParseRecordedPage(t *testing.T) {
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		t.Skip("not on this kernel: the recordings are of a little-endian machine")
	}
	for _, c := range []struct {
		kernel string
		id     uint16
		pid    int32
	}{{"6.12", 0x434, 0x36}, {"6.1", 0x3be, 0x31}} {
		page, err := os.ReadFile("testdata/page-" + c.kernel)
		require.NoError(t, err)
		records, err := parsePage(map[uint16]string{c.id: "page_test"}, 1, page)
		require.NoError(t, err)
		require.Len(t, records, 4)
		for i, text := range []string{"first", "second", "third " + strings.Repeat("long ", 40), "last"} {
			r := records[i]
			assert.Equal(t, "page_test", r.Event)
			assert.Equal(t, 1, r.CPU)
			assert.Equal(t, c.pid, r.PID)
			location := binary.NativeEndian.Uint32(r.Payload)
			assert.EqualValues(t, len(text)+1, location>>16)
			assert.Equal(t, text+"\x00", string(r.Payload[4:][:location>>16]))
			assert.Less(t, len(r.Payload)-4-len(text)-1, 8, "padding")
		}
		assert.True(t, slices.IsSortedFunc(records, func(a, b Record) int { return int(int64(a.Time) - int64(b.Time)) }))
		pause := records[2].Time - records[1].Time
		assert.Greater(t, pause, uint64(300e6), "the program slept 300 ms")
		assert.Less(t, pause, uint64(400e6))

		for n := range page {
			_, err := parsePage(map[uint16]string{c.id: "page_test"}, 1, page[:n])
			require.ErrorIs(t, err, errCut, "%d bytes", n)
		}
	}
}

// FuzzParsePage: whatever is in a page, parsing ends.
func FuzzParsePage(f *testing.F) {
	for _, kernel := range []string{"6.12", "6.1"} {
		page, err := os.ReadFile("testdata/page-" + kernel)
		require.NoError(f, err)
		f.Add(page)
	}
	f.Fuzz(func(t *testing.T, page []byte) {
		records, _ := parsePage(map[uint16]string{0x434: "a", 0x3be: "b"}, 0, page)
		total := 0
		for _, r := range records {
			total += len(r.Payload) + 8
		}
		if total > len(page) {
			t.Errorf("%d bytes of records in %d bytes", total, len(page))
		}
	})
}

// recorder notes whether a test would be skipped.
type recorder struct {
	testing.TB
	skipped, counted bool
}

func (r *recorder) Helper()             {}
func (r *recorder) Attr(string, string) { r.counted = true }

func (r *recorder) Skip(...any) {
	r.skipped = true
	runtime.Goexit()
}

// TestGuest: on a machine that is no guest, tests run if that was asked for, and only with the
// value that says so.
func TestGuest(t *testing.T) {
	for _, c := range []struct {
		vm, host string
		run      bool
	}{
		{"", "", false},
		{"1", "", true},
		{"", "1", true},
		{"", "0", false},
	} {
		t.Setenv(testscale.EnvVM, c.vm)
		t.Setenv(EnvHostTests, c.host)
		r, done := &recorder{TB: t}, make(chan struct{})
		go func() {
			defer close(done)
			Guest(r)
		}()
		<-done
		assert.Equal(t, !c.run, r.skipped, "%+v", c)
		assert.Equal(t, c.run, r.counted, "%+v", c)
	}
}

func TestMain(m *testing.M) { leakcheck.Main(m) }
