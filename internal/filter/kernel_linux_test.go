package filter

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/tracefs"
)

// world is an event, an instance that records what matches a filter, and one that records everything.
type world struct {
	t             *testing.T
	ev            *uevents.Event
	event         *tracefs.Event
	filtered, all *kerneltest.Instance
	format        tracepoint.Format
}

func newWorld(t *testing.T) *world {
	fs := kerneltest.Require(t)
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	p, err := uevents.Open(nil)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.Close()) })
	w := &world{t: t, filtered: kerneltest.NewInstance(t, fs, 256), all: kerneltest.NewInstance(t, fs, 256)}
	w.ev, err = p.Register(declaration, nil)
	require.NoError(t, err)
	w.filtered.Attach(declaration.Name)
	w.all.Attach(declaration.Name)
	w.event = w.filtered.Event(declaration.Name)
	w.format, err = w.event.Format()
	require.NoError(t, err)
	return w
}

// setComm gives the thread a name. From Linux 5.17 on, no rest of the old one remains behind it.
func (w *world) setComm(comm string) {
	require.NoError(w.t, os.WriteFile("/proc/thread-self/comm", []byte(comm), 0o644))
}

// compare writes records while a filter is set, and compares what the kernel records with what Match says. It
// returns how many matched.
func (w *world) compare(text, comm string, payloads [][]byte) (accepted bool, matched int) {
	w.t.Helper()
	f, err := bind(text, w.format)
	kernelErr := w.event.SetFilter(text)
	if !assert.Equal(w.t, kernelErr == nil, err == nil, "%q: the kernel says %v, Bind %v", text, kernelErr, err) {
		return false, 0
	}
	if err != nil {
		assert.ErrorIs(w.t, kernelErr, syscall.EINVAL, "%q", text)
		return false, 0
	}
	for i, b := range payloads {
		binary.NativeEndian.PutUint32(b, uint32(i))
		written, err := w.ev.WriteRecord(append(make([]byte, uevents.IndexSize), b...))
		require.NoError(w.t, err)
		require.True(w.t, written)
	}
	kept := make(map[uint32]bool)
	for _, r := range w.filtered.Records() {
		kept[binary.NativeEndian.Uint32(r.Payload)] = true
	}
	all := w.all.Records()
	require.Len(w.t, all, len(payloads))
	for _, r := range all {
		raw := make([]byte, tracepoint.CommonSize)
		binary.NativeEndian.PutUint16(raw, uint16(w.format.ID))
		binary.NativeEndian.PutUint32(raw[4:], uint32(r.PID))
		seq := binary.NativeEndian.Uint32(r.Payload)
		got := f.Match(&Record{Raw: append(raw, r.Payload...), CPU: r.CPU, Comm: comm})
		assert.Equal(w.t, kept[seq], got, "%q, comm %s, CPU %d: does the kernel record %q?", text, comm, r.CPU, r.Payload)
	}
	return true, len(kept)
}

// meansTheSame reports whether this kernel takes a filter as this package does. Before Linux 6.4, text is a number for it.
func meansTheSame(text string) bool {
	without := []string{".function", "CPUS", "\n", "\x00"}
	if k := testscale.Kernel(); k == "6.1" || k == "6.1-byte" {
		without = append(without, `'`, `"`, "text", "rel", "bytes", "void", "fix", "small", "stacktrace", "STACKTRACE")
	}
	removes := strings.TrimSpace(text) == "" || strings.TrimSpace(text) == "0" // the filter that was set
	return !removes && len(text) <= maxText && !slices.ContainsFunc(without, func(s string) bool { return strings.Contains(text, s) })
}

// TestKernel: the kernel gives the answers of the tables.
func TestKernel(t *testing.T) {
	w := newWorld(t)
	w.setComm(sampleComm)
	payloads := [][]byte{sample.payload()}
	for text, want := range matches {
		if !meansTheSame(text) {
			continue
		}
		accepted, matched := w.compare(text, sampleComm, payloads)
		assert.True(t, accepted, "%s", text)
		assert.Equal(t, want, matched == 1, "%s", text)
	}
	for text := range refusals {
		if meansTheSame(text) {
			accepted, _ := w.compare(text, sampleComm, nil)
			assert.False(t, accepted, "%s", text)
		}
	}
	if os.Getpagesize() == maxText+1 {
		accepted, _ := w.compare("m == 7"+strings.Repeat(" ", maxText), sampleComm, nil)
		assert.False(t, accepted)
	}
}

// TestKernelRandom: the kernel and this package agree on random filters and records.
func TestKernelRandom(t *testing.T) {
	w := newWorld(t)
	g := generator{rand.New(rand.NewPCG(1, 2))}
	comms := []string{"ab5ab5ab5ab5ab5", "ab", "5a"}
	var accepted, refused, matched, missed int
	filters := 600
	if testscale.Kernel() != "7.3-uml" {
		filters = 150 // replacing one takes 20 ms where the kernel waits until no processor uses it
	}
	for range filters {
		payloads := make([][]byte, 24)
		for i := range payloads {
			payloads[i] = g.record().payload()
		}
		comm := comms[g.IntN(len(comms))]
		w.setComm(comm)
		text := g.filter()
		for !meansTheSame(text) {
			text = g.filter()
		}
		ok, n := w.compare(text, comm, payloads)
		if t.Failed() {
			return
		}
		if !ok {
			refused++
			continue
		}
		accepted++
		matched += n
		missed += len(payloads) - n
	}
	t.Logf("%d filters accepted, %d refused; %d records matched, %d did not", accepted, refused, matched, missed)
	assert.Greater(t, min(matched, missed), 3*filters)
	assert.Greater(t, min(accepted, refused), filters/6)
}

// generator makes filters and records of a few values, so that many match.
type generator struct{ *rand.Rand }

func (g generator) of(list ...string) string { return list[g.IntN(len(list))] }

func (g generator) text(alphabet string, longest int) string {
	b := make([]byte, g.IntN(longest+1))
	for i := range b {
		b[i] = alphabet[g.IntN(len(alphabet))]
	}
	return string(b)
}

func (g generator) record() values {
	v := values{map[string]int64{}, map[string]string{}}
	for _, f := range declaration.Fields {
		switch t := f.Type; {
		case t.Location != tracepoint.Fixed && t.Kind.Size() == 1:
			v.bytes[f.Name] = g.of("", g.text("ab5", 3)+"\x00", g.text("ab5", 5)+"\x00", g.text("ab5*[\x00", 5)+"\x00", strings.Repeat("a", 255)+"\x00")
		case t.Location != tracepoint.Fixed:
			v.bytes[f.Name] = g.text("\x00\x01", 4) + "\x00"
		case t.Len > 0 || t.Kind == tracepoint.Struct && t.FixedSize() != 8:
			v.bytes[f.Name] = g.text("ab5\x00", t.FixedSize())
		default:
			n, _ := parseNumber(g.of(smallNumbers...), true)
			v.numbers[f.Name] = int64(n)
		}
	}
	return v
}

var (
	smallNumbers = []string{
		"0", "1", "-1", "2", "5", "127", "128", "-128", "255", "256", "32767", "32768", "65535", "2147483647", "2147483648", "-2147483648", "4294967295",
		"9223372036854775807", "-9223372036854775808",
	}
	oddNumbers = []string{
		"0x7f", "0XfF", "0377", "-0x80", "-0200", "65536", "4294967296", "9223372036854775808", "18446744073709551615", "18446744073709551616", "-9223372036854775809",
		"08", "0x", "0xg", "00", "-0", "-", "5a", "0b1", "00000000000000000000001", "000000000000000000000001", "0xffffffffffffffff", "0x10000000000000000",
	}
	generalFields = []string{"common_pid", "common_type", "CPU", "cpu", "common_cpu", "COMM", "comm", "stacktrace", "STACKTRACE", "nope", "a.ustring", "text.ustring", "a.b", "words", "p3"}
	textFields    = map[string]bool{"COMM": true, "comm": true, "text.ustring": true}
)

func (g generator) space() string { return g.of("", "", "", " ", "  ", "\t", "\xa0", "\v") }

func (g generator) filter() string {
	text := []byte(g.space() + g.expression(3) + g.space())
	for g.IntN(4) == 0 && len(text) > 0 { // change a byte
		i := g.IntN(len(text))
		const bytes = "()!&|\"'~=<>-_.a0x5* \xa0\xc0\xd7"
		c := bytes[g.IntN(len(bytes))]
		switch g.IntN(3) {
		case 0:
			text[i] = c
		case 1:
			text = append(text[:i], text[i+1:]...)
		default:
			text = append(text[:i], append([]byte{c}, text[i:]...)...)
		}
	}
	return string(text)
}

func (g generator) expression(depth int) string {
	if depth == 0 || g.IntN(3) == 0 {
		return g.comparison()
	}
	switch g.IntN(6) {
	case 0:
		return "!" + g.space() + g.expression(depth-1)
	case 1:
		return "(" + g.space() + g.expression(depth-1) + g.space() + ")"
	case 2:
		return "!(" + g.expression(depth-1) + ")"
	default:
		return g.expression(depth-1) + g.space() + g.of("&&", "||") + g.space() + g.expression(depth-1)
	}
}

func (g generator) comparison() string {
	name := g.of(generalFields...)
	isText := textFields[name]
	if g.IntN(8) != 0 {
		f := declaration.Fields[1+g.IntN(len(declaration.Fields)-1)]
		name, isText = f.Name, f.Type.Kind.Size() == 1 && (f.Type.Location != tracepoint.Fixed || f.Type.Len > 0)
	}
	if g.IntN(40) == 0 {
		isText = !isText
	}
	op := g.of("==", "!=", "<", "<=", ">", ">=", "&")
	value := g.of(g.of(smallNumbers...), g.of(smallNumbers...), g.of(oddNumbers...), strconv.Itoa(g.IntN(4)))
	if isText {
		op = g.of("==", "!=", "~", "~", "~", "~")
		value = g.of(g.text("ab5", 3), "*"+g.text("ab5", 2), g.text("ab5", 2)+"*", "*"+g.text("ab5", 2)+"*", g.text("ab5*?[]!-\\", 6), g.text("ab*?", 5),
			g.text("a*", 2)+"["+g.text("ab5-!]", 4)+"]"+g.text("*b", 2), strings.Repeat("a", 254+g.IntN(3)))
		value = g.of(`"`+value+`"`, `'`+value+`'`)
	}
	if g.IntN(60) == 0 {
		op = g.of("~", "=", "=~", "!~", "&&", "")
	}
	return name + g.space() + op + g.space() + value
}
