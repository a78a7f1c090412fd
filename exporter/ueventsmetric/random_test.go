package ueventsmetric_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/exporter/internal/testmetrics"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/internal/text"
)

// parse returns what a record says.
func parse(t testing.TB, decoder *typed.Decoder, payload []byte) fields {
	t.Helper()
	record, err := decoder.Decode(payload)
	require.NoError(t, err)
	f := fields{"": record.Event()}
	for name, v := range record.All() {
		s := v.String()
		f[name] = text.Unescape(s)
		if strings.HasSuffix(name, "attributes") && s != "" {
			var object map[string]any
			d := json.NewDecoder(bytes.NewReader([]byte(s)))
			d.UseNumber()
			require.NoError(t, d.Decode(&object), s)
			f[name] = normal(object)
		}
	}
	return f
}

func normal(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, e := range v {
			v[key] = normal(e)
		}
	case []any:
		for i, e := range v {
			v[i] = normal(e)
		}
	case json.Number:
		return numberOf(v)
	}
	return v
}

// TestCollected: events say what the SDK collected, all of it.
func TestCollected(t *testing.T) {
	r := newRig(t)
	tr := r.attach(t)
	rm, err := testmetrics.Collected(t.Context())
	require.NoError(t, err)
	require.NoError(t, r.Export(t.Context(), rm))
	var got []fields
	events := map[any]bool{}
	for _, raw := range tr.Records() {
		decoder, err := typed.NewDecoder(raw.Declaration, nil)
		require.NoError(t, err)
		got = append(got, parse(t, decoder, raw.Payload))
		events[raw.Event] = true
	}
	assert.Equal(t, records("app", rm), got)
	assert.Len(t, events, 6, "all but summaries, which bridges make, and cumulative ones")
}

// TestRandom: whatever metric data is, events say what is in it.
func TestRandom(t *testing.T) {
	events := map[any]bool{}
	for seed := range uint64(testscale.Count(1000, 30)) {
		rm := testmetrics.Random(rand.New(rand.NewPCG(seed, 0)))
		r := newRig(t)
		tr := r.attach(t)
		require.NoError(t, r.Export(t.Context(), rm))
		want := records("app", rm)
		got := tr.Records()
		require.Len(t, got, len(want), "seed %d", seed)
		for i, raw := range got {
			decoder, err := typed.NewDecoder(raw.Declaration, nil)
			require.NoError(t, err)
			require.Equal(t, want[i], parse(t, decoder, raw.Payload), "seed %d", seed)
			events[want[i][""]] = true
		}
	}
	assert.Len(t, events, len(kinds))
}
