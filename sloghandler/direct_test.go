package sloghandler_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/encode/attrjson"
	"github.com/userevents/userevents-go/sloghandler"
)

// TestDirectLikeWalked logs random records through a handler that takes the shortest way and
// one whose extractor, which adds nothing, makes it walk: the payloads are the same.
func TestDirectLikeWalked(t *testing.T) {
	declared := sloghandler.Record{Message: "m", Fields: []sloghandler.Field{
		{Key: "k0"}, {Key: "k1", Type: sloghandler.Int32}, {Key: "g0.k2", Type: sloghandler.Bool}, {Key: "k3", Type: sloghandler.Duration}, {Key: "long"},
	}}
	for _, o := range []sloghandler.Options{
		{},
		{AddSource: true},
		{Duplicates: attrjson.KeepLast},
		{MaxPayload: 320},
		{Records: []sloghandler.Record{declared}},
		{Records: []sloghandler.Record{declared}, Duplicates: attrjson.KeepLast},
		{Records: []sloghandler.Record{declared}, MaxPayload: 320},
	} {
		t.Run(fmt.Sprintf("%d %d %d", len(o.Records), o.Duplicates, o.MaxPayload), func(t *testing.T) {
			direct, directTracer := traced(t, o)
			o.AttrFromContext = []func(context.Context) []slog.Attr{func(context.Context) []slog.Attr { return nil }}
			walked, walkedTracer := traced(t, o)
			at := time.Now()
			for seed := range uint64(2000) {
				for _, h := range []slog.Handler{direct, walked} {
					random := rand.New(rand.NewPCG(seed, 9))
					for range random.IntN(3) {
						if random.IntN(3) == 0 {
							h = h.WithGroup("g" + fmt.Sprint(random.IntN(2)))
						} else if args := randomArgs(random, 1); len(args) > 0 {
							h = h.WithAttrs(attrsOf(args))
						}
					}
					r := slog.NewRecord(at, slog.LevelInfo, "m", 0)
					r.Add(randomArgs(random, random.IntN(2))...)
					if random.IntN(4) == 0 {
						r.AddAttrs(slog.String("long", strings.Repeat("lörem ", random.IntN(2000))))
					}
					require.NoError(t, h.Handle(t.Context(), r))
				}
				got, want := directTracer.Records(), walkedTracer.Records()
				require.Len(t, got, 1)
				require.Len(t, want, 1)
				require.Equal(t, decoded(t, want[0]), decoded(t, got[0]), "seed %d", seed)
				require.Equal(t, want[0].Payload, got[0].Payload, "seed %d", seed)
			}
			assert.Equal(t, walked.Stats(), direct.Stats())
		})
	}
}

func attrsOf(args []any) (attrs []slog.Attr) {
	for _, a := range args {
		attrs = append(attrs, a.(slog.Attr))
	}
	return attrs
}
