package benchmarks

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/exporter/ueventsmetric"
	"github.com/userevents/userevents-go/exporter/ueventsmetric/otlp"
	"github.com/userevents/userevents-go/internal/kerneltest"
)

// ownMetrics is a way to export data points with this project. open returns the export and the name of the event that it writes.
type ownMetrics struct {
	name string
	open func(tb testing.TB, kind string) (c call, event string)
}

var ownMetricList = []ownMetrics{
	{"ueventsmetric", func(tb testing.TB, kind string) (call, string) {
		name := uniqueName()
		e, err := ueventsmetric.NewExporter(name)
		allow(tb, err)
		return exportCall(tb, e, kind), name + "_metric_" + kind
	}},
	{"ueventsmetric-otlp", func(tb testing.TB, kind string) (call, string) {
		e, err := otlp.NewExporter()
		allow(tb, err)
		return exportCall(tb, e, kind), otlp.EventName
	}},
}

// ownMetricContenders are this project's, on only where the kernel has user_events.
func ownMetricContenders() (list []metricContender) {
	for _, o := range ownMetricList {
		c := metricContender{name: o.name, off: func(tb testing.TB, kind string) call {
			c, _ := o.open(tb, kind)
			return c
		}}
		if unavailable() == nil {
			c.on = func(tb testing.TB, kind string) call {
				c, event := o.open(tb, kind)
				kerneltest.NewInstance(tb, kerneltest.Require(tb), 64).Attach(event)
				return c
			}
		}
		list = append(list, c)
	}
	return list
}

// TestOwnMetrics: every data point arrives, whole, and none while no tool is attached.
func TestOwnMetrics(t *testing.T) {
	fs := kerneltest.Require(t)
	for _, o := range ownMetricList {
		for _, kind := range metricKinds {
			t.Run(o.name+"/"+kind, func(t *testing.T) {
				c, event := o.open(t, kind)
				c.log()
				i := kerneltest.NewInstance(t, fs, 1024)
				i.Attach(event)
				assert.Empty(t, i.Records())
				c.log()
				records := i.Records()
				if o.name == "ueventsmetric" {
					var texts []string
					for _, r := range records {
						texts = append(texts, decoded(t, fs.Event(event), r.Payload))
					}
					assertEach(t, kind, texts)
					return
				}
				format, err := fs.Event(event).Format()
				require.NoError(t, err)
				d, err := format.Declaration()
				require.NoError(t, err)
				decoder, err := typed.NewDecoder(d, nil)
				require.NoError(t, err)
				var bodies [][]byte
				for _, r := range records {
					record, err := decoder.Decode(r.Payload)
					require.NoError(t, err)
					buffer, _ := record.Lookup("buffer")
					bodies = append(bodies, buffer.Bytes())
				}
				assertPoints(t, kind, bodies...)
			})
		}
	}
}
