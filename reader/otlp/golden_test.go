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

	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

var update = flag.Bool("update", false, "write the golden files of testdata instead of comparing with them")

// program registers its events, and returns a function that writes records.
type program func(t *testing.T, p *uevents.Provider) (write func())

// sample is a record, with a decoder of its event.
type sample struct {
	decoder *reader.Decoder
	raw     []byte
}

// samplesOf returns the records that a program writes on a simulated kernel.
func samplesOf(t *testing.T, run program) (list []sample) {
	t.Helper()
	kernel := ueventstest.New(t, nil)
	provider := kernel.Provider()
	t.Cleanup(func() { require.NoError(t, provider.Close()) })
	write := run(t, provider)
	tool, err := kernel.Attach(ueventstest.Perf, "*")
	require.NoError(t, err)
	write()
	for _, rec := range tool.Records() {
		text, err := kernel.Format(rec.Event)
		require.NoError(t, err)
		format, err := tracepoint.ParseFormat(text)
		require.NoError(t, err)
		list = append(list, sampleOf(t, rec.System, format, rec.Payload))
	}
	return list
}

func sampleOf(t *testing.T, system string, format tracepoint.Format, payload []byte) sample {
	t.Helper()
	d, err := reader.NewDecoder(system, format)
	require.NoError(t, err)
	return sample{d, append(make([]byte, tracepoint.CommonSize), payload...)}
}

// convert decodes and converts records, as a Reader returns them.
func convert(t *testing.T, samples []sample, o *Options) *Converter {
	t.Helper()
	c := NewConverter(o)
	var ev reader.Event
	for i, s := range samples {
		d := s.decoder
		if o != nil && o.Raw {
			d = d.Plain()
		}
		err := d.Decode(s.raw, &ev)
		ev.Undecodable = err != nil
		ev.Time, ev.Monotonic, ev.PID, ev.TID, ev.Process, ev.Raw = written.Add(time.Duration(i)), uint64(i+1), 812, 815, myapp, s.raw
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
