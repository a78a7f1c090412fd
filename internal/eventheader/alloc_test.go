package eventheader

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
)

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
		e.Begin(buf, &h, 0, UUID{1}, UUID{2})
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
		Ints(&e, "int", []int{1})
		Ints(&e, "int8", []int8{1})
		Floats(&e, "float32", []float32{1})
		requireNoError(e.End())
	})
}
