package ueventslog

import (
	"math"

	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdklog "go.opentelemetry.io/otel/sdk/log"

	"github.com/userevents/userevents-go/encode/attrjson"
	"github.com/userevents/userevents-go/exporter/internal/attrs"
	"github.com/userevents/userevents-go/exporter/internal/report"
	"github.com/userevents/userevents-go/internal/bufpool"
)

// write writes a record if anybody traces its event, with one system call. That nobody traces,
// or that the sink was closed, is no error.
func (s *sink) write(r *sdklog.Record) error {
	if !s.all.MaybeEnabled() {
		return nil
	}
	o := s.outlet(r.Severity(), r.EventName())
	if !o.event.Enabled() {
		return nil
	}
	b := bufpool.Get()
	var cut int
	var err error
	if s.encoding == CommonSchema4 {
		if *b, cut, err = s.appendCommonSchema(*b, o, r); err != nil {
			o.point.counts.failed.Add(1)
		}
	} else {
		*b, cut = s.appendTyped(*b, o, r)
	}
	if err == nil {
		var written bool
		if written, err = o.event.WriteRecord(*b); written && cut > 0 {
			o.point.counts.cut.Add(1)
		}
	}
	bufpool.Put(b)
	return report.Quiet(err)
}

// clamp returns a severity as the field holds it.
func clamp(s log.Severity) int32 {
	return int32(min(max(int64(s), math.MinInt32), math.MaxInt32))
}

// Names that OpenTelemetry gives to what has no place of its own in a format, and ours.
const (
	keyScopeName       = "otel.scope.name"
	keyScopeVersion    = "otel.scope.version"
	keyScopeSchemaURL  = "otel.scope.schema_url"
	keyScopeAttributes = "otel.scope.attributes"
	keyDropped         = "otel.dropped_attributes_count"
	keySeverityText    = "severity_text"
)

// leftovers writes what few records have, and the event has no field for, as more
// attributes.
func leftovers(w *attrjson.Writer, o *outlet, r *sdklog.Record, scope *instrumentation.Scope) {
	if o.atScopeVersion == absent {
		if scope.Version != "" {
			w.Key(keyScopeVersion)
			w.String(scope.Version)
		}
		if n := r.DroppedAttributes(); n > 0 {
			w.Key(keyDropped)
			w.Int(int64(n))
		}
		// The number says the same in most cases.
		if s := r.SeverityText(); s != "" && s != r.Severity().String() {
			w.Key(keySeverityText)
			w.String(s)
		}
	}
	if scope.SchemaURL != "" {
		w.Key(keyScopeSchemaURL)
		w.String(scope.SchemaURL)
	}
	if scope.Attributes.Len() > 0 {
		w.Key(keyScopeAttributes)
		object := w.Object()
		for i := scope.Attributes.Iter(); i.Next(); {
			attrs.WriteJSON(w, i.Attribute())
		}
		w.Close(object)
	}
}
