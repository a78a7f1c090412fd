package typedfield_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/internal/typedfield"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

// kernelSample is an event with one field, v, and what the kernel is asked about it.
type kernelSample struct {
	field   string                          // its declaration
	fill    func(buf []byte, at int) []byte // puts the value
	filters []string                        // comparisons of v
}

func number(put func([]byte, int)) func([]byte, int) []byte {
	return func(buf []byte, at int) []byte {
		put(buf, at)
		return buf
	}
}

func textOf(s string) func([]byte, int) []byte {
	return func(buf []byte, at int) []byte {
		buf, _ = typedfield.AppendString(buf, at, at, s, 1000)
		return buf
	}
}

func bytesOf[T any](append func([]byte, T) []byte, v T) func([]byte, int) []byte {
	return func(buf []byte, at int) []byte {
		begin := len(buf)
		return typedfield.EndText(append(buf, v), at, at, begin)
	}
}

// empty leaves the field as it is.
func empty(buf []byte, _ int) []byte { return buf }

func elements(values ...uint16) func([]byte, int) []byte {
	return func(buf []byte, at int) []byte {
		begin := len(buf)
		for _, v := range values {
			buf = binary.NativeEndian.AppendUint16(buf, v)
		}
		typedfield.EndArray(buf, at, at, begin)
		return buf
	}
}

var id = [16]byte{0x4b, 0xf9, 0x2f, 0x35, 15: 0x36}

// kernelSamples has every type that the kernel accepts and every representation of the package
// comment.
var kernelSamples = []kernelSample{
	{"u8 v", number(func(b []byte, at int) { typedfield.PutU8(b, at, 65) }), []string{"== 65", "> 65"}},
	{"u8 v", number(func(b []byte, at int) { typedfield.PutU8(b, at, typedfield.Bool(true)) }), []string{"== 1", "== 0"}},
	{"s8 v", number(func(b []byte, at int) { typedfield.PutU8(b, at, 0xff) }), []string{"== -1", "< 0", "== 255"}},
	{"u16 v", number(func(b []byte, at int) { typedfield.PutU16(b, at, 0xfffe) }), []string{"== 65534", "> 100"}},
	{"s16 v", number(func(b []byte, at int) { typedfield.PutU16(b, at, 0xfffe) }), []string{"== -2", "< 0"}},
	{"u32 v", number(func(b []byte, at int) { typedfield.PutU32(b, at, 0xfffffffe) }), []string{"== 4294967294", "> 100"}},
	{"s32 v", number(func(b []byte, at int) { typedfield.PutU32(b, at, 0xfffffffe) }), []string{"== -2", "< 0"}},
	{"u64 v", number(func(b []byte, at int) { typedfield.PutU64(b, at, 1<<63) }), []string{"== 9223372036854775808", "> 100", "& 0x8000000000000000"}},
	{"s64 v", number(func(b []byte, at int) { typedfield.PutU64(b, at, ^uint64(1)) }), []string{"== -2", "< 0"}},
	{"int v", number(func(b []byte, at int) { typedfield.PutU32(b, at, 7) }), []string{"== 7"}},
	{"unsigned int v", number(func(b []byte, at int) { typedfield.PutU32(b, at, 7) }), []string{"== 7"}},
	{"short v", number(func(b []byte, at int) { typedfield.PutU16(b, at, 7) }), []string{"== 7"}},
	{"unsigned short v", number(func(b []byte, at int) { typedfield.PutU16(b, at, 7) }), []string{"== 7"}},
	{"char v", number(func(b []byte, at int) { typedfield.PutU8(b, at, 'A') }), []string{"== 65", "== 'A'"}},
	{"unsigned char v", number(func(b []byte, at int) { typedfield.PutU8(b, at, 'A') }), []string{"== 65"}},
	{"s64 v", number(func(b []byte, at int) { typedfield.PutU64(b, at, uint64(1500*time.Nanosecond)) }), []string{"> 1000", "< 1000"}},
	{"u64 v", number(func(b []byte, at int) { typedfield.PutU64(b, at, typedfield.UnixNano(time.Unix(1_000_000_000, 1))) }), []string{"== 1000000000000000001"}},
	{"char[8] v", number(func(b []byte, at int) { copy(b[at:at+8], "short") }), []string{`== "short"`, `== "shorter"`}},
	{"unsigned char[4] v", number(func(b []byte, at int) { copy(b[at:at+4], "abc") }), []string{`== "abc"`}},
	{"__data_loc char[] v", textOf("/users/{id}"), []string{`== "/users/{id}"`, `~ "/users/*"`, `~ "*orders*"`, `!= "x"`}},
	{"__data_loc char[] v", empty, []string{`== ""`, `== "x"`, `~ "*"`}},
	{"__data_loc char[] v", func(b []byte, at int) []byte { return typedfield.AppendHex(b, at, at, id[:]) }, []string{`== "4bf92f35000000000000000000000036"`, `~ "*0036"`}},
	{"__data_loc char[] v", textOf("two\nlines \x1b[31m"), []string{`~ "two*"`}},
	{"__data_loc char[] v", textOf("größer"), []string{`== "größer"`}},
	{"__data_loc char[] v", bytesOf(func(b []byte, v float64) []byte { return text.AppendFloat(b, v, 64) }, 0.25), []string{`== "0.25"`}},
	{"__data_loc char[] v", bytesOf(func(b []byte, a netip.Addr) []byte { return a.AppendTo(b) }, netip.MustParseAddr("192.0.2.1")), []string{`== "192.0.2.1"`, `~ "192.0.2.*"`, `~ "*.0.2.*"`}},
	{"__rel_loc char[] v", func(buf []byte, at int) []byte {
		typedfield.PutU32(buf, at, uint32(len("text\x00"))<<16) // behind the word
		return append(buf, "text\x00"...)
	}, []string{`== "text"`}},
	{"__data_loc u16[] v", elements(1, 2), []string{"== 1"}},
	{"struct point v 8", number(func(b []byte, at int) { typedfield.PutU64(b, at, 1) }), []string{"== 1"}},
}

// TestKernelGolden: what Linux 6.12 prints, filters and adds up of every type. The golden
// file is what the test prints when it fails.
func TestKernelGolden(t *testing.T) {
	fs := kerneltest.Require(t)
	runtime.LockOSThread() // common_pid is the thread's
	defer runtime.UnlockOSThread()
	if k := testscale.Kernel(); strings.TrimSuffix(k, "-uml") != "6.12" {
		t.Skipf("not on this kernel: the golden file is of 6.12, this is %s", k)
	}
	p, err := uevents.Open(nil)
	require.NoError(t, err)
	defer p.Close()
	i := kerneltest.NewInstance(t, fs, 64)
	var got strings.Builder
	for n, s := range kernelSamples {
		name := fmt.Sprintf("typed_sample_%d", n)
		d, err := tracepoint.Parse(name + " " + s.field)
		require.NoError(t, err)
		payload := make([]byte, d.FixedSize())
		if !strings.HasPrefix(s.field, "__rel_loc") { // which layouts do not write
			layout, err := typedfield.NewLayout(d)
			require.NoError(t, err)
			payload = layout.Begin(nil)
		}
		ev, err := p.Register(d, nil)
		require.NoError(t, err)
		buf := s.fill(append(make([]byte, uevents.IndexSize), payload...), uevents.IndexSize)
		event := i.Event(name)

		i.Attach(name)
		write := func() {
			_, err := ev.WriteRecord(buf)
			require.NoError(t, err)
		}
		i.Clear()
		write()
		_, line, found := strings.Cut(i.Content(), name+": ")
		require.True(t, found)
		fmt.Fprintf(&got, "%s\n  prints  %s\n", s.field, strings.ToValidUTF8(strings.TrimSpace(line), "\\xff"))

		for _, f := range s.filters {
			result := "dropped"
			if err := event.SetFilter("v " + f); err != nil {
				result = "refused: " + errnoOf(err)
			} else {
				i.Clear()
				write()
				if strings.Contains(i.Content(), name) {
					result = "kept"
				}
			}
			fmt.Fprintf(&got, "  filter  v %s: %s\n", f, result)
			require.NoError(t, event.SetFilter(""))
		}

		hists := []string{"hist:keys=v", "hist:keys=common_pid:vals=v"}
		if strings.Contains(s.field, "char[") {
			hists = hists[:1] // the kernel adds up addresses
		}
		for _, hist := range hists {
			if err := event.AddTrigger(hist); err != nil {
				fmt.Fprintf(&got, "  %s  refused: %s\n", hist, errnoOf(err))
				continue
			}
			write()
			write()
			row := "nothing"
			text, err := event.Hist()
			require.NoError(t, err)
			if m := histRow.FindStringSubmatch(text); m != nil {
				row = strings.Join(strings.Fields(m[1]+" "+m[2]), " ")
			}
			fmt.Fprintf(&got, "  %s  %s\n", hist, row)
			require.NoError(t, event.RemoveTrigger(hist))
		}
		i.Detach()
	}
	want, err := os.ReadFile("testdata/kernel-6.12.golden")
	require.NoError(t, err)
	if !assert.Equal(t, string(want), got.String()) {
		t.Logf("testdata/kernel-6.12.golden is to be:\n%s", &got)
	}
}

// TestKernelFields: the kernel keeps events that have fields of a struct between others, and filters by them.
func TestKernelFields(t *testing.T) {
	fs := kerneltest.Require(t)
	f := mustFields[fieldsSample](t)
	e := newAround(t, f.List())
	d := e.layout.Declaration()
	d.Name = "typed_fields"
	layout, err := typedfield.NewLayout(d)
	require.NoError(t, err)
	p, err := uevents.Open(nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, p.Close()) }()
	ev, err := p.Register(d, nil)
	require.NoError(t, err)
	i := kerneltest.NewInstance(t, fs, 64)
	require.NoError(t, i.Event(d.Name).SetFilter("Status >= 500"))
	i.Attach(d.Name)
	for _, v := range []fieldsSample{
		{Status: 200, Method: "GET", Load: 0.5},
		{Status: 500, Method: "GET", Load: 0.25, Codes: []int16{-1}, Trace: [16]byte{15: 1}},
		{Status: 501, Method: "G\x00" + strings.Repeat("x", 100), Note: "größe\n"},
		{Status: 502, Method: "G"},
	} {
		const start = uevents.IndexSize
		buf := layout.Begin(make([]byte, start, 512))
		buf, _ = typedfield.AppendString(buf, start, start+1, "first", 100)
		buf, _ = f.Append(buf, start, start+e.at, &v, 20)
		_, err := ev.WriteRecord(buf)
		require.NoError(t, err)
	}
	dec, err := typed.NewDecoder(d, nil)
	require.NoError(t, err)
	var got []string
	for _, r := range i.Records() {
		record, err := dec.Decode(r.Payload)
		require.NoError(t, err)
		got = append(got, record.String())
	}
	assert.Equal(t, []string{
		`typed_fields: a=0 b=first Method=GET Status=500 Trace=00000000000000000000000000000001 Load=0.25 Codes={-1} Note= z=0`,
		`typed_fields: a=0 b=first Method=G\x00xxxxxxxxxxx... Status=501 Trace=00000000000000000000000000000000 Load=0 Codes={} Note=größe\n z=0`,
		`typed_fields: a=0 b=first Method=G Status=502 Trace=00000000000000000000000000000000 Load=0 Codes={} Note= z=0`,
	}, got)
}

// fieldsSample has a field of each way to be written: copied, as a string, as an id, formatted, as an array.
type fieldsSample struct {
	Method string
	Status uint16
	Trace  [16]byte
	Load   float64
	Codes  []int16
	Note   string
}

// histRow matches a row of a histogram, without the key that differs between runs.
var histRow = regexp.MustCompile(`(?m)^\{ (?:(v: .*?)|common_pid: +\d+) \} (hitcount: .*)$`)

func errnoOf(err error) string {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno.Error()
	}
	return err.Error()
}
