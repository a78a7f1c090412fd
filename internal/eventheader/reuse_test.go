package eventheader

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
