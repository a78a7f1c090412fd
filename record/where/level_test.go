package where

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/userevents/userevents-go/record"
)

// TestLevel: records without a level meet every level, and spans and data points are of INFO.
func TestLevel(t *testing.T) {
	of := func(k record.Kind, s record.Severity) *record.Record { return &record.Record{Kind: k, Severity: s} }
	for _, c := range []struct {
		record *record.Record
		most   record.Severity // that it meets
	}{
		{of(record.KindLog, record.SeverityDebug), record.SeverityDebug},
		{of(record.KindLog, record.SeverityWarn+1), record.SeverityWarn + 1},
		{of(record.KindLog, 0), record.SeverityFatal + 3},
		{of(record.KindOther, 0), record.SeverityFatal + 3},
		{of(record.KindOther, record.SeverityError), record.SeverityError},
		{of(record.KindSpan, 0), record.SeverityInfo},
		{of(record.KindSpan, record.SeverityError), record.SeverityInfo},
		{of(record.KindSpanStart, 0), record.SeverityInfo},
		{of(record.KindSpanEvent, record.SeverityTrace), record.SeverityInfo},
		{of(record.KindSpanLink, 0), record.SeverityInfo},
		{of(record.KindMetric, 0), record.SeverityInfo},
	} {
		for s := record.SeverityTrace; s <= record.SeverityFatal+3; s++ {
			assert.Equal(t, s <= c.most, Level(s).Match(c.record), "%s %s of level %s", c.record.Kind, c.record.Severity, s)
		}
	}
	for level, want := range map[record.Severity][]string{ // events that a tool does not attach to
		record.SeverityDebug: nil,
		record.SeverityInfo:  {"debug", "otel debug"},
		record.SeverityWarn:  {"debug", "otel debug", "slog", "span"},
	} {
		for name := range planned {
			plan := Level(level).Plan(plannedDecoder(t, name), true)
			assert.Equal(t, slices.Contains(want, name), plan.Never, "%s: %s %v", level, name, plan)
		}
	}
}

// TestJoin: joined conditions select what their text selects, nil is all records, and names of all are unknown ones.
func TestJoin(t *testing.T) {
	a, b := parsed("status >= 500"), parsed("kind == span or nosuch == 1")
	for want, c := range map[string]*Condition{
		"status >= 500": And(nil, a), "(status >= 500) and (kind == span or nosuch == 1)": And(a, nil, b), "(status >= 500) or (kind == span or nosuch == 1)": Or(a, b), "not (status >= 500)": Not(a),
		"(status >= 500) and (kind == span or nosuch == 1) and (status >= 500)": And(a, b, a),
	} {
		assert.Equal(t, want, c.String())
		for name, rec := range conditionSamples {
			assert.Equal(t, parsed(want).Match(rec), c.Match(rec), "%s: %s", name, want)
		}
	}
	assert.Nil(t, And())
	assert.Nil(t, And(nil, nil))
	assert.Nil(t, Or(a, nil))
	assert.Equal(t, []string{"nosuch"}, And(parsed("pid == 812"), b).UnknownNames())

	var all *Condition
	assert.Empty(t, all.String())
	assert.Empty(t, all.UnknownNames())
	for name, rec := range conditionSamples {
		assert.True(t, all.Match(rec), name)
	}
	for name := range planned {
		assert.Equal(t, Plan{}, all.Plan(plannedDecoder(t, name), true), name)
	}
}

// TestLevelOfSpans: spans are not asked for a level, so that it is no name that records lack.
func TestLevelOfSpans(t *testing.T) {
	for _, level := range []record.Severity{record.SeverityDebug, record.SeverityInfo, record.SeverityError} {
		c := Level(level)
		assert.Equal(t, level <= record.SeverityInfo, c.Match(&record.Record{Kind: record.KindSpan}), level)
		assert.Empty(t, c.UnknownNames(), level)
	}
}
