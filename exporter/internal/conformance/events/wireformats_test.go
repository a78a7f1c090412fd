package events

import (
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/exporter/ueventslog"
	"github.com/userevents/userevents-go/exporter/ueventsmetric"
	"github.com/userevents/userevents-go/exporter/ueventstrace"
	"github.com/userevents/userevents-go/internal/recordtest"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/structevent"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// TestEventNames: docs/wire-formats.md names the events that the packages register.
func TestEventNames(t *testing.T) {
	testscale.UsesCheckout()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "wire-formats.md"))
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
	_, err = ueventslog.NewProcessor("myapp", ueventslog.WithProvider(p), ueventslog.WithDeclarations(ueventslog.Declare[request]("http request", nil)))
	require.NoError(t, err)
	_, err = ueventstrace.NewProcessor("myapp", ueventstrace.WithProvider(p), ueventstrace.WithPerfettoSlices())
	require.NoError(t, err)
	_, err = ueventsmetric.NewExporter("myapp", ueventsmetric.WithProvider(p))
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

// TestFields: docs/wire-formats.md has each field of the events of data points, log records and spans, with its type: in the section of these events, or
// among the common fields.
func TestFields(t *testing.T) {
	testscale.UsesCheckout()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "wire-formats.md"))
	require.NoError(t, err)
	common := documentedFields(t, string(text), "Common fields")
	unused := maps.Clone(common)
	for title, register := range map[string]func(*uevents.Provider) error{
		"Data points": func(p *uevents.Provider) error {
			_, err := ueventsmetric.NewExporter("myapp", ueventsmetric.WithProvider(p))
			return err
		},
		"Spans": func(p *uevents.Provider) error {
			_, err := ueventstrace.NewProcessor("myapp", ueventstrace.WithProvider(p), ueventstrace.WithPerfettoSlices())
			return err
		},
		"Log records": func(p *uevents.Provider) error {
			_, err := ueventslog.NewExporter("myapp", ueventslog.WithProvider(p))
			if err != nil {
				return err
			}
			_, err = sloghandler.New("myapp", &sloghandler.Options{Provider: p})
			return err
		},
	} {
		documented := documentedFields(t, string(text), title)
		kernel := ueventstest.New(t, nil)
		p := kernel.Provider()
		require.NoError(t, register(p))
		fields := map[string]string{}
		for _, e := range kernel.Events() {
			for _, f := range e.Declaration.Fields {
				fields[f.Name] = f.Type.String()
				if f.Type == tracepoint.Dynamic(tracepoint.Char) {
					fields[f.Name] = "text"
				}
				if _, own := documented[f.Name]; !own && common[f.Name] != "" {
					documented[f.Name] = common[f.Name]
					delete(unused, f.Name)
				}
			}
		}
		require.NoError(t, p.Close())
		assert.Equal(t, fields, documented, title)
	}
	assert.Empty(t, unused, "common fields that no event has")
}

// documentedFields returns the types of the fields that the lists of a section name, in lines of names, type and content.
func documentedFields(t *testing.T, text, title string) map[string]string {
	_, section, found := strings.Cut(text, "\n## "+title+"\n")
	require.True(t, found, title)
	section, _, _ = strings.Cut(section, "\n## ")
	fields := map[string]string{}
	for _, line := range regexp.MustCompile(`(?m)^    (\w+(?:, \w+)*)  +(text|char|[us](?:8|16|32|64))(?:  .*)?$`).FindAllStringSubmatch(section, -1) {
		for name := range strings.SplitSeq(line[1], ", ") {
			fields[name] = line[2]
		}
	}
	require.NotEmpty(t, fields, title)
	return fields
}

// The Collector that docs/operating.md configures knows no patterns: its list must have the names that the processors register.
func TestCollectorConfiguration(t *testing.T) {
	testscale.UsesCheckout()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "operating.md"))
	require.NoError(t, err)
	var listed []string
	for _, m := range regexp.MustCompile(`tracepoint: (\w+), format: \{type: event_header\}`).FindAllSubmatch(text, -1) {
		listed = append(listed, string(m[1]))
	}

	kernel := ueventstest.New(t, nil)
	p := kernel.Provider()
	logs, err := ueventslog.NewProcessor("myapp", ueventslog.WithProvider(p), ueventslog.WithCommonSchema4())
	require.NoError(t, err)
	spans, err := ueventstrace.NewProcessor("myapp", ueventstrace.WithProvider(p), ueventstrace.WithCommonSchema4())
	require.NoError(t, err)
	var registered []string
	for _, e := range kernel.Events() {
		registered = append(registered, e.Name)
	}
	require.NoError(t, logs.Shutdown(t.Context()))
	require.NoError(t, spans.Shutdown(t.Context()))
	require.NoError(t, p.Close())

	slices.Sort(listed)
	slices.Sort(registered)
	assert.Equal(t, slices.Compact(registered), listed)
}

// everyText has every type that becomes a text in a struct event.
type everyText struct {
	Text   string
	Bytes  []byte
	Raw    []byte `uevent:",text"`
	Trace  [16]byte
	UUID   [16]byte `uevent:",uuid"`
	Float  float64
	Addr   netip.Addr
	Peer   netip.AddrPort
	Net    netip.Prefix
	At     time.Time
	Number uint16
}

// TestTextsAreStrings: every text of every typed event is a field that all tracing tools read as one. Perfetto takes the location
// of __rel_loc for a number, and drops fixed arrays of char. (The event otlp_metrics has the format of another project.)
func TestTextsAreStrings(t *testing.T) {
	k, p := recordtest.Kernel(t)
	_, err := sloghandler.New("slog", &sloghandler.Options{
		Provider: p, AddSource: true,
		Declarations: []sloghandler.AnyDeclaration{sloghandler.Declare[everyText]("declared", nil)},
	})
	require.NoError(t, err)
	_, err = ueventslog.NewProcessor("log", ueventslog.WithProvider(p), ueventslog.WithDeclarations(ueventslog.Declare[struct {
		Text  string
		Float float64
	}]("declared", nil)))
	require.NoError(t, err)
	_, err = ueventstrace.NewProcessor("trace", ueventstrace.WithProvider(p), ueventstrace.WithPerfettoSlices())
	require.NoError(t, err)
	_, err = ueventsmetric.NewExporter("metric", ueventsmetric.WithProvider(p))
	require.NoError(t, err)
	_, err = structevent.Define[everyText](p, "struct_event", nil)
	require.NoError(t, err)

	events := k.Events()
	require.Len(t, events, 5+5+5+10+1, "a new event must be registered here")
	for _, e := range events {
		texts := 0
		for _, f := range e.Declaration.Fields {
			assert.NotEqual(t, tracepoint.RelLoc, f.Type.Location, "%s of %s", f.Name, e.Declaration.Name)
			assert.Zero(t, f.Type.Len, "%s of %s is a fixed array", f.Name, e.Declaration.Name)
			if f.Type == tracepoint.Dynamic(tracepoint.Char) {
				texts++
			}
		}
		assert.Positive(t, texts, e.Declaration.Name)
	}
}
