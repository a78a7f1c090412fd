package doctest

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/exporter/ueventslog"
	"github.com/userevents/userevents-go/exporter/ueventsmetric"
	"github.com/userevents/userevents-go/exporter/ueventstrace"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// TestEventNames: docs/wire-formats.md names the events that the packages register.
func TestEventNames(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "wire-formats.md"))
	require.NoError(t, err)
	var named []string
	for _, m := range regexp.MustCompile("(?m)^\\| `.*$").FindAll(text, -1) {
		for _, name := range regexp.MustCompile("`(myapp_\\w+)`").FindAllSubmatch(m, -1) {
			named = append(named, string(name[1]))
		}
	}

	kernel := ueventstest.New(t, nil)
	p := kernel.Provider()
	type request struct{ Status uint16 }
	_, err = sloghandler.New("myapp", &sloghandler.Options{
		Provider: p, Declarations: []sloghandler.AnyDeclaration{sloghandler.Declare[request]("http request", nil)},
	})
	require.NoError(t, err)
	_, err = ueventslog.NewProcessor("myapp", ueventslog.WithEventProvider(p), ueventslog.WithRecords(ueventslog.Record{
		EventName: "http request", Fields: []ueventslog.Field{{Key: "status"}},
	}))
	require.NoError(t, err)
	_, err = ueventstrace.NewProcessor("myapp", ueventstrace.WithEventProvider(p), ueventstrace.WithPerfettoSlices())
	require.NoError(t, err)
	_, err = ueventsmetric.NewExporter("myapp", ueventsmetric.WithEventProvider(p))
	require.NoError(t, err)
	var registered []string
	for _, e := range kernel.Events() {
		registered = append(registered, e.Name)
	}
	require.NoError(t, p.Close())
	slices.Sort(named)
	slices.Sort(registered)
	assert.Equal(t, registered, named)
}
