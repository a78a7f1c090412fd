package typed_test

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/internal/testscale"
)

func TestDecodeDoesNotAllocate(t *testing.T) {
	if testscale.Race {
		t.Skip("not under the race detector: it allocates")
	}
	for _, tt := range corpus {
		if len(tt.values) == 0 {
			continue
		}
		dec, err := typed.NewDecoder(mustParse(t, tt.command), binary.LittleEndian)
		require.NoError(t, err)
		payload := unhex(t, tt.little)
		assert.Zero(t, testing.AllocsPerRun(100, func() {
			r, err := dec.Decode(payload)
			if err != nil {
				panic(err)
			}
			sum := uint64(0)
			for i := range r.Len() {
				name, v := r.Field(i)
				if _, found := r.Lookup(name); !found {
					panic("not found")
				}
				sum += v.Uint64() + uint64(len(v.Bytes()))
			}
			if sum == 0 {
				panic("nothing was decoded")
			}
		}), tt.name)
	}
}
