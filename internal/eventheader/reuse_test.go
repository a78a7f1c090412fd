package eventheader

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
)

// TestDecodeAgain: an event and a cursor that were used before are as good as new ones.
func TestDecodeAgain(t *testing.T) {
	var ev Event
	var c Cursor
	for range 2 {
		for _, w := range worked {
			payload := unhex(t, w.bytes)
			tp, err := ParseName(w.tp)
			require.NoError(t, err)
			require.NoError(t, ev.Decode(tp, payload))
			want, err := Decode(w.tp, payload)
			require.NoError(t, err)
			assert.Equal(t, want, &ev, w.name)

			c.Reset(&ev)
			var got []node
			for c.Next() {
				got = append(got, c.node())
			}
			require.NoError(t, c.Err())
			tree, err := want.tree()
			require.NoError(t, err)
			assert.ElementsMatch(t, tree, got, w.name)

			require.Error(t, ev.Decode(tp, payload[:len(payload)-len(want.data)-1]), w.name)
			c.Reset(&Event{meta: []byte("x")}) // which ends in the middle of a name
			require.False(t, c.Next())
			require.Error(t, c.Err())
		}
	}
}

// TestDecodeAgainDoesNotAllocate: an event of the same name needs no memory.
func TestDecodeAgainDoesNotAllocate(t *testing.T) {
	payload := corpusEvent(t, archHost)
	tp := Name{Provider: "p", Level: Level(payload[7])}
	var ev Event
	var c Cursor
	requireAllocs(t, 0, func() {
		requireNoError(nil, ev.Decode(tp, payload))
		c.Reset(&ev)
		for c.Next() {
			_ = c.NameBytes()
		}
		requireNoError(nil, c.Err())
	})
}

// TestValueOfEachFormat: the methods of a value return what Any returns.
func TestValueOfEachFormat(t *testing.T) {
	ev, err := Decode("p_L4K0", corpusEvent(t, archHost))
	require.NoError(t, err)
	seen := map[Format]bool{}
	for c := ev.cursor(); c.Next(); {
		if c.Item() != itemValue {
			continue
		}
		v := c.Value()
		seen[v.Format()] = true
		n, f, text := uint64(0), 0.0, ""
		switch want := v.any().(type) {
		case nil:
			assert.Equal(t, FormatDefault, v.Format())
		case uint64:
			n = want
		case int64:
			n = uint64(want)
			if v.Format() == FormatBool {
				n = uint64(uint32(want))
			}
		case time.Time:
			n = uint64(want.Unix())
		case bool:
			if want {
				n = 1
			}
		case float32:
			f = float64(want)
		case float64:
			f = want
		case string:
			text = want
		case UUID, netip.Addr, []byte:
		default:
			assert.Failf(t, "unknown type", "%T", want)
		}
		assert.Equal(t, n, v.Uint64(), "%s %s", string(c.NameBytes()), c.Type())
		assert.Equal(t, f, v.Float64(), "%s %s", string(c.NameBytes()), c.Type())
		assert.Equal(t, text, string(v.Text()), "%s %s", string(c.NameBytes()), c.Type())
	}
	for f := FormatUnsigned; f <= FormatIP; f++ {
		assert.True(t, seen[f], "no value of format %d", f)
	}
	assert.Zero(t, Value{}.Uint64())
	assert.Zero(t, Value{}.Float64())
	assert.Nil(t, Value{}.Text())
	assert.Equal(t, FormatDefault, Value{}.Format())
}

// TestPrefixIsThatOfTheHeader: an encoder that is reused makes the same events as a new one, whatever the header before was.
func TestPrefixIsThatOfTheHeader(t *testing.T) {
	testscale.HostOnly(t)
	rng := rand.New(rand.NewPCG(1, 2))
	names := []string{"", "_", "a", "b", "a;b", "a_b", "größe", strings.Repeat("x", 255), strings.Repeat("x", 256)}
	events := map[string]bool{}
	var reused Encoder
	var h Header // which changes
	for range 20_000 {
		switch rng.IntN(8) {
		case 0:
			h.Name = names[rng.IntN(len(names))]
		case 1:
			h.Level = LevelInfo + Level(rng.IntN(3)) // one is invalid
		case 2:
			h.Opcode = Opcode(rng.IntN(2))
		case 3:
			h.ID = uint16(rng.IntN(2))
		case 4:
			h.Version = uint8(rng.IntN(2))
		case 5:
			h.Tag = uint16(rng.IntN(2))
		case 6:
			h.arch = archs[rng.IntN(len(archs))]
		}
		encode := func(e *Encoder, dst []byte) (string, error) {
			e.Begin(dst, &h, 0)
			e.Int64("n", 1)
			e.String("t", "text")
			b, err := e.End()
			return string(b), err
		}
		got, err := encode(&reused, make([]byte, 4, 4+rng.IntN(2)*2*minEvent))
		want, wantErr := encode(new(Encoder), make([]byte, 4))
		require.Equal(t, want, got)
		require.Equal(t, wantErr, err)
		events[got] = true
	}
	require.Greater(t, len(events), 500)
}

func requireAllocs(t *testing.T, want float64, f func()) {
	t.Helper()
	if testscale.Race {
		t.Skip("not under the race detector: it allocates")
	}
	assert.Equal(t, want, testing.AllocsPerRun(100, f))
}

// requireNoError does not allocate, as the functions of testify do.
func requireNoError(_ []byte, err error) {
	if err != nil {
		panic(err)
	}
}

func TestEncoderDoesNotAllocate(t *testing.T) {
	var e Encoder
	buf := make([]byte, 4, 4+defaultLimit)
	requireAllocs(t, 0, func() { requireNoError(fiveDynamic(&e, buf)) })
	requireAllocs(t, 0, func() { requireNoError(tenDynamic(&e, buf)) })
	requireAllocs(t, 0, func() {
		h := Header{Name: "größe", Level: LevelInfo}
		e.Begin(buf, &h, 0)
		e.String("größe", "größe \xff")
		e.JSON("json", `{"größe":"😀"}`)
		e.Null("null")
		e.network("id", typeUUID, make([]byte, 16))
		requireNoError(e.End())
	})
}

func TestEncoderDoesNotAllocateWhenItCuts(t *testing.T) {
	var e Encoder
	buf := make([]byte, 4, 4+defaultLimit)
	long := strings.Repeat("größe\n", 2000)
	names := make([]string, 300)
	for i := range names {
		names[i] = fmt.Sprint("größe", i)
	}
	h := Header{Name: "long", Level: LevelInfo}
	requireAllocs(t, 0, func() {
		e.Begin(buf, &h, 0)
		e.String("long", long)
		e.String("long", long)
		requireNoError(e.End())
	})
	requireAllocs(t, 0, func() {
		e.Begin(buf, &h, 0)
		for i, name := range names {
			if i < 9 {
				e.BeginStruct(name)
			}
			e.String(name, "\u0085")
		}
		requireNoError(e.End())
	})
}

func TestEncoderGrowsABufferAsNeeded(t *testing.T) {
	var e Encoder
	_, err := fiveDynamic(&e, nil)
	require.NoError(t, err)
	b, err := fiveDynamic(&e, nil)
	require.NoError(t, err)
	same, err := fiveDynamic(&e, make([]byte, 0, defaultLimit))
	require.NoError(t, err)
	assert.Equal(t, same, b)
}

func TestCursorDoesNotAllocate(t *testing.T) {
	var e Encoder
	b, err := tenDynamic(&e, nil)
	require.NoError(t, err)
	ev, err := Decode("p_L4K1", b)
	require.NoError(t, err)
	out := make([]byte, 0, 4096)
	requireAllocs(t, 0, func() {
		items := 0
		c := ev.cursor()
		for c.Next() {
			items++
			out = c.Value().AppendJSON(out[:0])
		}
		if c.Err() != nil || items != 19 {
			panic(items)
		}
	})
}

func TestArraysDoNotAllocate(t *testing.T) {
	var e Encoder
	buf := make([]byte, 4, 4+defaultLimit)
	h := Header{Name: "arrays", Level: LevelInfo}
	requireAllocs(t, 0, func() {
		e.Begin(buf, &h, 0)
		e.Ints("ints", []int64{1})
		e.Floats("floats", []float64{1})
		e.Bools("bools", []bool{true})
		requireNoError(e.End())
	})
}

// The events of the benchmarks: what a log call of five attributes carries, and twice that.

func fiveDynamic(e *Encoder, dst []byte) ([]byte, error) {
	e.Begin(dst, &Header{Name: "request", Level: LevelInfo}, 0)
	e.String("method", "GET")
	e.String("route", "/users/{id}")
	e.Int64("status", 200)
	e.Int64("duration", 1_234_567)
	e.Bool("cached", true)
	return e.End()
}

func tenDynamic(e *Encoder, dst []byte) ([]byte, error) {
	e.Begin(dst, &Header{Name: "request", Level: LevelInfo}, 0)
	e.Value("__csver__", typeOf(encValue32, FormatUnsigned), 1024)
	e.BeginStruct("PartC")
	e.String("method", "GET")
	e.String("route", "/users/{id}")
	e.Int64("status", 200)
	e.Int64("duration", 1_234_567)
	e.Bool("cached", true)
	e.Float64("load", 0.25)
	e.Strings("tags", tags)
	e.Ints("sizes", sizes)
	e.EndStruct()
	e.Bytes("raw", rawBytes)
	return e.End()
}

var (
	tags     = []string{"a", "b"}
	sizes    = []int64{1, 2, 3}
	rawBytes = []byte{1, 2, 3}
)

func BenchmarkEncoderFiveFields(b *testing.B) {
	var e Encoder
	buf := make([]byte, 4, 4096)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := fiveDynamic(&e, buf); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncoderTenFields(b *testing.B) {
	var e Encoder
	buf := make([]byte, 4, 4096)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := tenDynamic(&e, buf); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeTenFields(b *testing.B) {
	payload, err := tenDynamic(new(Encoder), nil)
	if err != nil {
		b.Fatal(err)
	}
	var out []byte
	b.ReportAllocs()
	for b.Loop() {
		ev, err := Decode("myapp_L4K1", payload)
		if err != nil {
			b.Fatal(err)
		}
		if out, err = ev.appendJSON(out[:0]); err != nil {
			b.Fatal(err)
		}
	}
}
