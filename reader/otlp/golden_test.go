package otlp

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/recordtest"
	"github.com/userevents/userevents-go/reader"
)

var update = flag.Bool("update", false, "write the golden files of testdata instead of comparing with them")

// convert decodes and converts records, as a Reader returns them.
func convert(t *testing.T, samples []recordtest.Sample, o *Options) *Converter {
	t.Helper()
	c := NewConverter(o)
	var ev reader.Event
	for i, s := range samples {
		decode := reader.DecodeOptions{Reuse: true}
		if o != nil && o.Raw {
			decode.Mode = reader.DecodePlain
		}
		err := s.Decoder.Decode(s.Raw, &ev, &decode)
		ev.Undecodable = err != nil
		ev.Time, ev.Monotonic, ev.PID, ev.TID, ev.Process, ev.Raw = written.Add(time.Duration(i)), uint64(i+1), 812, 815, myapp, s.Raw
		add(t, c, &ev)
	}
	c.Flush()
	return c
}

// TestGolden: each kind of event has the OpenTelemetry data of its golden files, for both mappings. To write them again:
//
//	go test -run TestGolden ./reader/otlp -update
func TestGolden(t *testing.T) {
	names := map[string]bool{}
	for name, samples := range goldenSamples(t) {
		for mapping, o := range map[string]*Options{"auto": nil, "raw": {Raw: true}} {
			file := filepath.Join("testdata", name+"."+mapping+".json")
			names[file] = true
			t.Run(name+"/"+mapping, func(t *testing.T) {
				got := goldenText(t, convert(t, samples, o))
				if *update {
					require.NoError(t, os.WriteFile(file, got, 0o600))
				}
				want, err := os.ReadFile(file)
				require.NoError(t, err)
				assert.Equal(t, string(want), string(got))
			})
		}
	}
	files, err := filepath.Glob(filepath.Join("testdata", "*.json"))
	require.NoError(t, err)
	for _, file := range files {
		assert.True(t, names[file], "%s has no test", file)
	}
}

// goldenText returns all data as JSON, one value in a line.
func goldenText(t *testing.T, c *Converter) []byte {
	t.Helper()
	logs, traces, metrics := takeJSON(t, c)
	all := map[string]json.RawMessage{}
	for signal, text := range map[string]string{"logs": logs, "metrics": metrics, "traces": traces} {
		if text != "{}" {
			all[signal] = json.RawMessage(text)
		}
	}
	text, err := json.Marshal(all)
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, json.Indent(&b, text, "", " "))
	return append(b.Bytes(), '\n')
}
