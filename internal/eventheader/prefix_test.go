package eventheader

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
)

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
		ids := []UUID{sequence(1), sequence(2)}[:max(0, rng.IntN(5)-2)]
		encode := func(e *Encoder, dst []byte) (string, error) {
			e.Begin(dst, &h, 0, ids...)
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
	require.Greater(t, len(events), 1000)
}
