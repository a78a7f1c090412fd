package eventheader

import (
	"fmt"
	"math"
	"math/bits"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestWhatStandsBefore: the bytes that are in the buffer before an event count for nothing, whatever its limit.
func TestWhatStandsBefore(t *testing.T) {
	h := Header{Name: "e", Level: LevelInfo}
	for _, arch := range archs {
		h.arch = arch
		for limit := 1; limit < 120; limit++ {
			encode := func(before int) (string, error) {
				var e Encoder
				e.Begin(make([]byte, before), &h, limit)
				e.String("text", strings.Repeat("x", 40))
				e.Int64("n", 1)
				b, err := e.End()
				return string(b[before:]), err
			}
			want, wantErr := encode(0)
			if least := h.minLimit(0); limit < least {
				require.ErrorIs(t, wantErr, errTooLarge)
				require.ErrorContains(t, wantErr, fmt.Sprintf("%d bytes of %d", least, limit))
			} else {
				require.NoError(t, wantErr)
			}
			for _, before := range []int{4, 50} {
				got, err := encode(before)
				require.Equal(t, wantErr, err)
				require.Equal(t, want, got, "%d bytes before, limit %d", before, limit)
			}
		}
	}
}

// TestExactLimit: an event of exactly the limit loses nothing.
func TestExactLimit(t *testing.T) {
	for _, arch := range archs {
		encode := func(limit int) []byte {
			var e Encoder
			e.Begin(make([]byte, 4), &Header{Name: "e", Level: LevelInfo, arch: arch}, limit)
			e.String("text", strings.Repeat("x", 100))
			return end(t, &e)[4:]
		}
		whole := encode(0)
		assert.Equal(t, whole, encode(len(whole)))
		all, lost := values(requireEvent(t, encode(len(whole)-1), len(whole)-1))
		assert.Equal(t, 1, lost)
		assert.Len(t, all["text"], 1)
	}
}

// TestLimitBoundsMemory: a value that is larger than the limit takes no more than the limit until End.
func TestLimitBoundsMemory(t *testing.T) {
	const limit, more = 100, 64
	long := strings.Repeat("x", 400)
	for name, add := range map[string]func(*Encoder){
		"text":           func(e *Encoder) { e.String("a", long) },
		"escaped text":   func(e *Encoder) { e.String("a", strings.Repeat("\n", 400)) },
		"JSON":           func(e *Encoder) { e.JSON("a", long) },
		"bytes":          func(e *Encoder) { e.Bytes("a", []byte(long)) },
		"numbers":        func(e *Encoder) { Ints(e, "a", make([]int64, 3000)) },
		"floats":         func(e *Encoder) { Floats(e, "a", make([]float32, 3000)) },
		"text in arrays": func(e *Encoder) { e.Strings("a", []string{long}) },
	} {
		var e Encoder
		e.Begin(nil, &Header{Name: "e", Level: LevelInfo}, limit)
		add(&e)
		assert.LessOrEqual(t, len(e.data), limit+more, name)
		requireEvent(t, end(t, &e), limit)
	}
}

// TestLongTextInALargeBuffer: a text that is longer than its count can say is cut, although the buffer has room for it.
func TestLongTextInALargeBuffer(t *testing.T) {
	var e Encoder
	e.Begin(make([]byte, 0, 1<<18), &Header{Name: "e", Level: LevelInfo}, maxLimit)
	e.String("a", strings.Repeat("x", 70_000))
	b := end(t, &e)
	require.Len(t, b, maxLimit)
	all, lost := values(requireEvent(t, b, maxLimit))
	assert.Equal(t, 1, lost)
	assert.True(t, strings.HasSuffix(all["a"][0].(string), "x..."))
}

// TestStepsOfACursor: each item takes a step, each field's metadata another, and finding the end one.
func TestStepsOfACursor(t *testing.T) {
	var e Encoder
	e.Begin(nil, &Header{Name: "e", Level: LevelInfo}, 0)
	e.Bool("b", true)
	ev, err := Decode("p_L4K0", end(t, &e))
	require.NoError(t, err)
	for steps := range 5 {
		c := ev.cursor()
		assert.Equal(t, -1, c.index, "before the first item")
		c.steps = steps
		assert.Equal(t, steps >= 2, c.Next(), steps)
		assert.False(t, c.Next())
		assert.Equal(t, steps >= 3, c.Err() == nil, steps)
	}
}

// TestHostIsDecoded: an event says which architecture this machine has.
func TestHostIsDecoded(t *testing.T) {
	want := map[[2]bool]arch{
		{true, true}: little64, {true, false}: little32, {false, true}: big64, {false, false}: big32,
	}[[2]bool{hostLittle, bits.UintSize == 64}]
	var e Encoder
	e.Begin(nil, &Header{Name: "e", Level: LevelInfo}, 0)
	ev, err := Decode("p_L4K0", end(t, &e))
	require.NoError(t, err)
	assert.Equal(t, want, ev.arch)
}

// TestPrefixOfEachName: the second event of an encoder begins like the first one, whatever the length of its name.
func TestPrefixOfEachName(t *testing.T) {
	for n := 1; n <= maxNameSize; n++ {
		h := Header{Name: strings.Repeat("n", n), Level: LevelInfo}
		var e Encoder
		encode := func() string {
			e.Begin(make([]byte, 0, 1000), &h, 0)
			e.Bool("b", true)
			return string(end(t, &e))
		}
		require.Equal(t, encode(), encode())
	}
}

// TestStructsAndItems: a struct is dropped where decoders would not take as many children as it may get.
func TestStructsAndItems(t *testing.T) {
	const room = maxItems - maxFields - 1 // beside the array itself
	h := Header{Name: "e", Level: LevelInfo}
	for left := structItems - 2; left < structItems+2; left++ {
		// A struct needs room for all children that it might have.
		var e Encoder
		e.Begin(nil, &h, maxLimit)
		Ints(&e, "a", make([]int8, room-left))
		e.BeginStruct("s")
		e.Bool("b", true)
		e.EndStruct()
		all, lost := values(requireEvent(t, end(t, &e), maxLimit))
		want := 0
		if left < 128 {
			want = 1
		}
		assert.Equal(t, want, lost, left)
		assert.Len(t, all["b"], 1-want, left)

		// So does the one that holds fields for which there is no other place.
		e.Begin(nil, &h, maxLimit)
		Ints(&e, "a", make([]int8, room-left))
		for range maxFields {
			e.Bool("b", true)
		}
		_, lost = values(requireEvent(t, end(t, &e), maxLimit))
		assert.Equal(t, want, lost, left)
	}
}

// TestNamesBeyondTheLimitTakeNoPlace: fields that are dropped for their names leave the others in the event itself.
func TestNamesBeyondTheLimitTakeNoPlace(t *testing.T) {
	var e Encoder
	e.Begin(nil, &Header{Name: "e", Level: LevelInfo}, 3000)
	for range 200 {
		e.Bool(strings.Repeat("n", 3001), true)
	}
	for range maxFields - 1 {
		e.Bool("b", true)
	}
	for _, n := range requireEvent(t, end(t, &e), 3000) {
		assert.NotEqual(t, overflowField, n.Name)
	}
}

// TestCodesAtTheEnds: the last character of each range is one.
func TestCodesAtTheEnds(t *testing.T) {
	nodes := encoded(t, func(e *Encoder) {
		e.Value("last", typeOf(encValue32, formatUTF), 0x10ffff)
		e.String("replaced", "\ufffd")
	})
	assert.Equal(t, []node{
		{Name: "last", Type: typeOf(encValue32, formatUTF), Value: "\U0010ffff"},
		{Name: "replaced", Type: typeString, Value: "\ufffd"},
	}, nodes)
	assert.Equal(t, "\\n\ufffd", string(appendEscaped(nil, []byte("\n\ufffd"), formUTF8)))
	r, n := formUTF32Little.rune([]byte{0, 0xd8, 0, 0})
	assert.Equal(t, '\ufffd', r, "half of a pair is no character")
	assert.Equal(t, 4, n)
}

// TestTimesAtTheEnds: the first and the last second that the reference decoder prints as a time.
func TestTimesAtTheEnds(t *testing.T) {
	for seconds, number := range map[int64]bool{minTime: false, minTime - 1: true, maxTime: false, maxTime + 1: true, math.MinInt64: true} {
		assert.Equal(t, number, strings.HasPrefix(string(appendTime(nil, seconds)), `"TIME(`), seconds)
	}
}

// TestDecodeChildrenThatAreMissing: the metadata may end before all children of a struct are declared, also where no element of an array has
// them.
func TestDecodeChildrenThatAreMissing(t *testing.T) {
	meta := "e\x00" + "s\x00" + string([]byte{byte(encStruct) | flagVariable | chainFlag, 2}) + "x\x00" + string([]byte{byte(encValue8)})
	payload := []byte{hostFlags | flagExtension, 0, 0, 0, 0, 0, 0, byte(LevelInfo)}
	payload = hostOrder.append16(hostOrder.append16(payload, uint16(len(meta))), kindMetadata)
	payload = append(hostOrder.append16(append(payload, meta...), 0), 0)
	ev, err := Decode("p_L4K1", payload)
	require.NoError(t, err)
	nodes, err := ev.tree()
	require.NoError(t, err)
	assert.Equal(t, []node{{Name: "s", Type: typeOf(encStruct, 2), Value: []any{}}}, nodes)
}
