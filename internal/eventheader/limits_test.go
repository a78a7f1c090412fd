package eventheader

import (
	"fmt"
	"math"
	"math/bits"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
)

// every is an event with everything that can be cut.
func every(t testing.TB, arch arch, limit int) (payload []byte, want []node) {
	text := strings.Repeat("größe 日本語 😀 ", 5)
	texts := []any{text, text, "short"}
	ints := []any{}
	numbers := make([]int64, 50)
	for i := range numbers {
		numbers[i] = int64(i)
		ints = append(ints, int64(i))
	}
	id := sequence(1)
	want = []node{
		{Name: "utf8", Type: typeString, Value: text},
		{Name: "json", Type: typeJSON, Value: text},
		{Name: "bytes", Type: typeBytes, Value: []byte(text)},
		{Name: "texts", Type: typeString, Value: texts},
		{Name: "ints", Type: typeInt64, Value: ints},
		{Name: "number", Type: typeUint64, Value: uint64(42)},
		{Name: "id", Type: typeUUID, Value: id},
	}
	var e Encoder
	e.Begin([]byte("head"), &Header{Name: "every", Level: LevelInfo, arch: arch}, limit)
	e.String("utf8", text)
	e.JSON("json", text)
	e.Bytes("bytes", []byte(text))
	e.Strings("texts", []string{text, text, "short"})
	e.Ints("ints", numbers)
	e.Value("number", typeUint64, 42)
	e.network("id", typeUUID, id[:])
	payload, err := e.End()
	if err != nil {
		require.ErrorIs(t, err, errTooLarge)
	}
	return payload, want
}

// TestEachLimit encodes the same event with limits from nothing to more than it needs.
func TestEachLimit(t *testing.T) {
	testscale.HostOnly(t)
	for _, arch := range archs[1:] {
		smallest := len("head")
		for limit := 1; ; limit += testscale.Count(1, 5) + limit/100 {
			a, want := every(t, arch, limit)
			if len(a) > len("head") {
				requireFields(t, requireEvent(t, a[4:], limit), want)
				assert.GreaterOrEqual(t, len(a), smallest, "more room, smaller event")
				smallest = len(a) - 64 // what is cut elsewhere differs a little
			}
			if limit > 3000 {
				assert.Len(t, requireEvent(t, a[4:], limit), len(want), "nothing is cut")
				break
			}
		}
	}
}

func TestTextsAreCutBetweenCharacters(t *testing.T) {
	for _, typ := range []Type{typeString, typeJSON} {
		for size := 200; size < 260; size++ {
			text := strings.Repeat("aé日😀\n\\\u202e\U000e0041\\\\\xff\"", 100)
			var e Encoder
			e.Begin(nil, &Header{Name: "e", Level: LevelInfo}, size)
			addText(&e, "x", typ, text)
			nodes := requireEvent(t, end(t, &e), size)
			require.Len(t, nodes, 2)
			got := nodes[0].Value.(string)
			assert.True(t, utf8.ValidString(got))
			assert.NotContains(t, got, "\ufffd")
			assert.True(t, isCut(got, wantText(typ, text)), "%v: %q", typ, got)
			assert.NotEmpty(t, got)
			assert.Equal(t, node{Name: TruncatedField, Type: typeUint16, Value: uint64(1)}, nodes[1])
		}
	}
}

func TestTheLongestIsCutFirst(t *testing.T) {
	nodes := requireEvent(t, func() []byte {
		var e Encoder
		e.Begin(nil, &Header{Name: "e", Level: LevelInfo}, 300)
		e.String("a", strings.Repeat("a", 1000))
		e.String("id", strings.Repeat("1", 32))
		e.String("b", strings.Repeat("b", 500))
		e.Int64("n", 1)
		return end(t, &e)
	}(), 300)
	require.Len(t, nodes, 5)
	a, b := nodes[0].Value.(string), nodes[2].Value.(string)
	assert.Equal(t, strings.Repeat("1", 32), nodes[1].Value)
	assert.Len(t, a, len(b))
	assert.Greater(t, len(a), 90)
	assert.Equal(t, uint64(2), nodes[4].Value)
}

func TestEventNameIsCut(t *testing.T) {
	var e Encoder
	e.Begin(nil, &Header{Name: "x" + strings.Repeat("é", 200), Level: LevelInfo}, 0)
	ev, err := Decode("p_L4K0", end(t, &e))
	require.NoError(t, err)
	assert.Equal(t, "x"+strings.Repeat("é", 127), ev.Name)
	nodes, err := ev.tree()
	require.NoError(t, err)
	assert.Equal(t, []node{{Name: TruncatedField, Type: typeUint16, Value: uint64(1)}}, nodes)
}

func TestLimitsThatAreOutOfRange(t *testing.T) {
	long := strings.Repeat("x", 1<<17)
	for limit, want := range map[int]int{-1: defaultLimit, 0: defaultLimit, 1 << 20: maxLimit, maxLimit: maxLimit} {
		var e Encoder
		e.Begin(nil, &Header{Name: "e", Level: LevelInfo}, limit)
		e.String("x", long)
		assert.Len(t, end(t, &e), want)
	}
}

// TestMinLimit: with that limit there is an event, whatever its fields are, and with one byte less there may be none.
func TestMinLimit(t *testing.T) {
	long := strings.Repeat("x", 1000)
	for _, name := range []string{"", "e", "größe", strings.Repeat("é", 127), strings.Repeat("x", 255), strings.Repeat("x", 256), strings.Repeat("x", 999)} {
		h := Header{Name: name, Level: LevelInfo}
		limit := h.minLimit()
		encode := func(limit int) ([]byte, error) {
			var e Encoder
			e.Begin(nil, &h, limit)
			e.String("long", long)
			e.BeginStruct("struct")
			e.Ints("numbers", make([]int64, 100))
			return e.End()
		}
		b, err := encode(limit)
		require.NoError(t, err)
		nodes := requireEvent(t, b, limit)
		assert.Equal(t, TruncatedField, nodes[len(nodes)-1].Name)
		_, err = encode(limit - 1)
		assert.ErrorIs(t, err, errTooLarge, name)
	}
}

// minLimit returns the least limit in bytes with which an [Encoder] can make any event of this header. It then has
// at least the name and says what it lost. With less, [Encoder.End] may return errTooLarge.
func (h *Header) minLimit() int {
	name := min(max(len(h.Name), len(noName)), maxNameSize)
	return headerSize + extensionSize + name + 1 + truncatedSize
}

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
			if least := h.minLimit(); limit < least {
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
		"numbers":        func(e *Encoder) { e.Ints("a", make([]int64, 3000)) },
		"floats":         func(e *Encoder) { e.Floats("a", make([]float64, 3000)) },
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

// TestHostFlags: an event says which architecture this machine has.
func TestHostFlags(t *testing.T) {
	var e Encoder
	e.Begin(nil, &Header{Name: "e", Level: LevelInfo}, 0)
	flags := end(t, &e)[0]
	assert.Equal(t, hostLittle, flags&flagLittleEndian != 0)
	assert.Equal(t, bits.UintSize == 64, flags&flagPointer64 != 0)
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
		e.Bools("a", make([]bool, room-left))
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
		e.Bools("a", make([]bool, room-left))
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

// TestLost: the encoder says what the event says.
func TestLost(t *testing.T) {
	var e Encoder
	for _, size := range []int{0, 100, 150, 200, 1000, 0} {
		e.Begin(nil, &Header{Name: "e", Level: LevelInfo}, 300)
		for _, name := range []string{"a", "b", "c"} {
			e.String(name, strings.Repeat("x", size))
		}
		payload, err := e.End()
		require.NoError(t, err)
		ev, err := Decode("p_L4K1", payload)
		require.NoError(t, err)
		nodes, err := ev.tree()
		require.NoError(t, err)
		said := uint64(0)
		if last := nodes[len(nodes)-1]; last.Name == TruncatedField {
			said = last.Value.(uint64)
		}
		assert.EqualValues(t, said, e.Lost(), size)
		assert.Equal(t, size >= 100, e.Lost() > 0, size)
	}
}

// TestLostForTheNumberOfItems: what does not fit the number of items that decoders take is counted: elements of texts each, an array of
// numbers once, as what is cut.
func TestLostForTheNumberOfItems(t *testing.T) {
	const room = maxItems - maxFields
	for _, tt := range []struct {
		name string
		add  func(e *Encoder)
		want int
	}{
		{"numbers that fit", func(e *Encoder) { e.Bools("a", make([]bool, room-1)) }, 0},
		{"one number too many", func(e *Encoder) { e.Bools("a", make([]bool, room)) }, 1},
		{"many numbers too many", func(e *Encoder) { e.Bools("a", make([]bool, 2*room)) }, 1},
		{"texts that fit", func(e *Encoder) { e.Strings("a", make([]string, room-1)) }, 0},
		{"three texts too many", func(e *Encoder) { e.Strings("a", make([]string, room+2)) }, 3},
		{"another array", func(e *Encoder) {
			e.Bools("a", make([]bool, room-1))
			e.Bools("b", nil)
			e.Strings("c", nil)
		}, 2},
		{"a struct", func(e *Encoder) {
			e.Bools("a", make([]bool, room-1))
			e.BeginStruct("s")
			e.Bool("b", true)
			e.EndStruct()
		}, 1},
		{"too many fields and no items for another struct", func(e *Encoder) {
			e.Bools("a", make([]bool, room-1))
			for range maxFields + 5 {
				e.Bool("b", true)
			}
		}, 6},
	} {
		var e Encoder
		e.Begin(nil, &Header{Name: "e", Level: LevelInfo}, maxLimit)
		tt.add(&e)
		payload := end(t, &e)
		_, lost := values(requireEvent(t, payload, maxLimit))
		assert.Equal(t, tt.want, lost, tt.name)
		assert.Equal(t, tt.want, e.Lost(), tt.name)
	}
}

// TestLostInNumbers: an array of numbers that is larger than the limit is cut, which counts once.
func TestLostInNumbers(t *testing.T) {
	h := Header{Name: "e", Level: LevelInfo}
	for _, n := range []int{20, 30, 40, 1000} {
		var e Encoder
		e.Begin(nil, &h, 300)
		e.Ints("numbers", make([]int64, n))
		payload := end(t, &e)
		all, lost := values(requireEvent(t, payload, 300))
		if n == 20 || n == 30 {
			assert.Equal(t, []any{n}, all["numbers[]"])
			assert.Zero(t, lost)
			continue
		}
		assert.Equal(t, 1, lost)
		assert.Equal(t, []any{(300 - h.minLimit() - len("numbers") - typeSize - 2) / 8}, all["numbers[]"])
	}
}
