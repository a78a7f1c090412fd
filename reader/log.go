package reader

import (
	"log/slog"
	"strconv"
	"strings"
)

// The layouts of log records. Declared records have no message, and fields of their own.
var (
	otelLog = &layout{
		kind:    KindLog,
		numbers: []string{"time_unix_nano", "observed_time_unix_nano", "severity_number", "duplicate"},
		texts:   []string{"trace_id", "span_id", "severity_text", "event_name", "body", "attributes"},
		fields: with(map[string]setter{
			"observed_time_unix_nano": setObserved,
			"severity_number":         setSeverity,
			"severity_text":           words(func(ev *Event, s string) { ev.SeverityText = s }),
			"event_name":              words(func(ev *Event, s string) { ev.EventName = s }),
			"body":                    setBody,
		}, append(origin, "time_unix_nano", "trace_id", "span_id", "trace_flags", "duplicate", "dropped_attributes_count")...),
		finish: finishOtel,
	}
	otelDeclared = &layout{
		kind:    KindLog,
		numbers: []string{"time_unix_nano", "observed_time_unix_nano", "severity_number"},
		texts:   []string{"trace_id", "span_id", "body", "attributes"},
		fields: with(map[string]setter{
			"observed_time_unix_nano": setObserved,
			"severity_number":         setSeverity,
			"body":                    setBody,
		}, "time_unix_nano", "trace_id", "span_id", "trace_flags", "truncated", "scope_name", "service_name", "resource", "attributes"),
		finish: finishOtelDeclared,
	}
	slogLevel = &layout{
		kind:    KindLog,
		numbers: []string{"time_unix_nano", "level", "truncated", "duplicate"},
		texts:   []string{"trace_id", "span_id", "message", "source", "attributes"},
		fields:  with(slogFields(map[string]setter{"message": setMessage}), "duplicate"),
	}
	slogDeclared = &layout{
		kind:    KindLog,
		numbers: []string{"time_unix_nano", "level", "truncated"},
		texts:   []string{"trace_id", "span_id", "source", "attributes"},
		fields:  slogFields(map[string]setter{}),
		finish:  setDeclaredName,
	}
)

var (
	setObserved = number64(func(ev *Event, n uint64) { ev.Observed = unixNano(n) })
	setSeverity = upTo(uint64(maxSeverity), func(ev *Event, n uint64) { ev.Severity = Severity(n) })
	setMessage  = setter{words: setText, empty: true}
	// setBody leaves the body null if it is empty: a log record of OpenTelemetry without a body is far more common than one
	// with an empty text.
	setBody = setter{words: setText}
)

func setText(ev *Event, s string) { ev.Message, ev.Body = s, StringValue(s) }

// slogFields adds the fields that all records of package sloghandler share.
func slogFields(own map[string]setter) map[string]setter {
	own["level"] = setter{number: func(ev *Event, n uint64) { ev.setSlogLevel(int64(n)) }, empty: true} // 0 is INFO
	own["source"] = words((*Event).addSource)
	return with(own, "time_unix_nano", "trace_id", "span_id", "truncated", "attributes")
}

func setDeclaredName(d *Decoder, ev *Event) { ev.EventName = d.registered }

// keySeverityText is an attribute of declared records, which have no field for the severity text.
const keySeverityText = "severity_text"

func finishOtelDeclared(d *Decoder, ev *Event) {
	setDeclaredName(d, ev)
	lift(ev)
	if ev.Severity != 0 {
		ev.SeverityText = ev.Severity.String() // unless the record has its own
	}
	for i, f := range ev.Fields {
		if f.Name == keySeverityText && f.Value.Type() == TypeString {
			ev.SeverityText = f.Value.Text()
			ev.Fields = append(ev.Fields[:i], ev.Fields[i+1:]...)
			break
		}
	}
}

// setSlogLevel sets the severity and its text from a level of package slog.
func (ev *Event) setSlogLevel(level int64) {
	ev.Severity = severityOfSlog(level)
	ev.SeverityText = slogName(level)
}

// addSource adds the source location of a log call under OpenTelemetry's names. A text of another form stays a field.
func (ev *Event) addSource(source string) {
	if source == "" {
		return
	}
	function, place, _ := strings.Cut(source, " ")
	colon := strings.LastIndexByte(place, ':')
	line := Value{}
	if colon >= 0 {
		line = numberText(place[colon+1:])
	}
	if line.Type() != TypeInt64 {
		ev.Fields = append(ev.Fields, Field{"source", StringValue(source)})
		return
	}
	ev.Fields = append(ev.Fields,
		Field{"code.function.name", StringValue(function)},
		Field{"code.file.path", StringValue(place[:colon])},
		Field{"code.line.number", line})
}

// Levels of package slog whose names are constants.
const (
	minNamed = -16
	maxNamed = 16
)

var slogNames = func() (names [maxNamed - minNamed + 1]string) {
	for i := range names {
		names[i] = slog.Level(i + minNamed).String()
	}
	return names
}()

// slogName returns the name that package slog gives a level.
func slogName(level int64) string {
	if level >= minNamed && level <= maxNamed {
		return slogNames[level-minNamed]
	}
	if level < 0 {
		return "DEBUG" + strconv.FormatInt(level-int64(slog.LevelDebug), 10)
	}
	return "ERROR+" + strconv.FormatInt(level-int64(slog.LevelError), 10)
}
