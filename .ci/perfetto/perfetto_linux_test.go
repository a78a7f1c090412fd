// Package perfetto_test checks that Perfetto's recorder reads the texts of all typed events, and that
// Perfetto can draw spans as slices.
// .ci/perfetto/run starts it in a guest.
package perfetto_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/tracefs"
)

// TestTexts compares what Perfetto recorded with the same records in a buffer of ftrace:
// every text field must be a string, and the same one.
func TestTexts(t *testing.T) {
	fs := kerneltest.Require(t)
	emit := adapters(t)
	names := slices.Sorted(maps.Keys(typedEvents))
	var events []string
	for _, name := range names {
		events = append(events, "user_events/"+name)
	}
	recorder := record(t, fs, events...)
	witness := kerneltest.NewInstance(t, fs, 256)
	witness.Attach(names...)
	emit()
	got := map[string][]map[string]string{}
	for _, a := range recorder.stop(t).events {
		got[a.event] = append(got[a.event], a.fields)
	}

	want := map[string][]map[string]string{}
	for _, r := range witness.Records() {
		want[r.Event] = append(want[r.Event], textsOf(t, fs, r))
	}
	texts := 0
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			require.NotEmpty(t, want[name], "no record was written")
			known := typedEvents[name]
			require.Equal(t, fmt.Sprintf("%q", known.text), want[name][0][known.field], known.field)
			require.Len(t, got[name], len(want[name]), "records that Perfetto has")
			for i, fields := range want[name] {
				for _, field := range slices.Sorted(maps.Keys(fields)) {
					assert.Equal(t, fields[field], got[name][i][field], "field %s of record %d in Perfetto's trace", field, i)
					texts++
				}
			}
		})
	}
	t.Logf("%d texts of %d events compared", texts, len(names))
}

// textsOf decodes the text fields of a record, as %q.
func textsOf(t *testing.T, fs *tracefs.Dir, r kerneltest.Record) map[string]string {
	t.Helper()
	format, err := fs.Event(r.Event).Format()
	require.NoError(t, err)
	declaration, err := format.Declaration()
	require.NoError(t, err)
	decoder, err := typed.NewDecoder(declaration, nil)
	require.NoError(t, err)
	decoded, err := decoder.Decode(r.Payload)
	require.NoError(t, err)
	texts := map[string]string{}
	for name, v := range decoded.All() {
		if v.Kind() == typed.KindText {
			texts[name] = fmt.Sprintf("%q", v.Text())
		}
	}
	return texts
}
