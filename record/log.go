package record

import (
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"github.com/userevents/userevents-go/internal/eventheader"
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
			"severity_text":           words(func(rec *Record, s string) { rec.SeverityText = s }),
			"event_name":              words(func(rec *Record, s string) { rec.EventName = s }),
			"body":                    setBody,
		}, append(origin, "time_unix_nano", "trace_id", "span_id", "trace_flags", "duplicate", "dropped_attributes_count")...),
		lifts: true,
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
		lifts:  true,
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
	setObserved = number64(func(rec *Record, n uint64) { rec.Observed = unixNano(n) })
	setSeverity = upTo(uint64(maxSeverity), func(rec *Record, n uint64) { rec.Severity = Severity(n) })
	setMessage  = setter{words: setText, empty: true}
	// setBody leaves the body null if it is empty: a log record of OpenTelemetry without a body is far more common than one
	// with an empty text.
	setBody = setter{words: setText}
)

func setText(rec *Record, s string) { rec.Message, rec.Body = s, StringValue(s) }

func slogFields(own map[string]setter) map[string]setter {
	own["level"] = setter{number: func(rec *Record, n uint64) { rec.setSlogLevel(int64(n)) }, empty: true} // 0 is INFO
	own["source"] = words((*Record).addSource)
	return with(own, "time_unix_nano", "trace_id", "span_id", "truncated", "attributes")
}

func setDeclaredName(d *Decoder, rec *Record) { rec.EventName = d.registered }

// keySeverityText is an attribute of declared records, which have no field for the severity text.
const keySeverityText = "severity_text"

func finishOtelDeclared(d *Decoder, rec *Record) {
	setDeclaredName(d, rec)
	rec.Fields() // which may have the severity text
	if rec.Severity != 0 {
		rec.SeverityText = rec.Severity.String() // unless the record has its own
	}
	for i, f := range rec.fields {
		if f.Name == keySeverityText && f.Value.Type() == TypeString {
			rec.SeverityText = f.Value.Text()
			rec.fields = append(rec.fields[:i], rec.fields[i+1:]...)
			break
		}
	}
}

func (rec *Record) setSlogLevel(level int64) {
	rec.Severity = severityOfSlog(level)
	rec.SeverityText = slogName(level)
}

// addSource adds the source location of a log call under OpenTelemetry's names. A text of another form stays a field.
func (rec *Record) addSource(source string) {
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
		rec.fields = append(rec.fields, Field{"source", StringValue(source)})
		return
	}
	rec.fields = append(rec.fields,
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

func slogName(level int64) string {
	if level >= minNamed && level <= maxNamed {
		return slogNames[level-minNamed]
	}
	if level < 0 {
		return "DEBUG" + strconv.FormatInt(level-int64(slog.LevelDebug), 10)
	}
	return "ERROR+" + strconv.FormatInt(level-int64(slog.LevelError), 10)
}

// Severity is OpenTelemetry's severity number of a log record: 1 to 24, or 0 if unknown.
type Severity int8

// The first severity of each range of four.
const (
	SeverityTrace Severity = 1
	SeverityDebug Severity = 5
	SeverityInfo  Severity = 9
	SeverityWarn  Severity = 13
	SeverityError Severity = 17
	SeverityFatal Severity = 21

	maxSeverity = SeverityFatal + 3
)

var severityNames = func() (names [maxSeverity + 1]string) {
	names[0] = "UNDEFINED"
	for i, name := range []string{"TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"} {
		first := 1 + 4*i
		names[first] = name
		for n := 2; n <= 4; n++ {
			names[first+n-1] = name + strconv.Itoa(n)
		}
	}
	return names
}()

// String returns OpenTelemetry's short name of the severity, such as TRACE or DEBUG2, and UNDEFINED for other numbers.
func (s Severity) String() string {
	if s < 0 || s > maxSeverity {
		s = 0
	}
	return severityNames[s]
}

var severityAliases = map[string]Severity{
	"verbose": SeverityDebug, "information": SeverityInfo, "informational": SeverityInfo, "notice": SeverityInfo, "warning": SeverityWarn, "err": SeverityError,
	"critical": SeverityFatal, "crit": SeverityFatal, "panic": SeverityFatal,
}

// ParseSeverity parses the name of a severity, in any case: trace, debug, info, warn, error or fatal, with an optional 2, 3 or 4 behind
// it, or a usual name of the same, such as warning, err or critical. The error wraps [fs.ErrInvalid].
func ParseSeverity(s string) (Severity, error) {
	for level := SeverityTrace; level <= maxSeverity; level++ {
		if strings.EqualFold(s, severityNames[level]) {
			return level, nil
		}
	}
	if level, ok := severityAliases[strings.ToLower(s)]; ok {
		return level, nil
	}
	return 0, fmt.Errorf("level %q is none of trace, debug, info, warn, error and fatal: %w", s, fs.ErrInvalid)
}

// slogOffset is the difference between OpenTelemetry's severity and the level of package slog.
const slogOffset = 9

func severityOfSlog(level int64) Severity {
	level = min(max(level, int64(SeverityTrace)-slogOffset), int64(maxSeverity)-slogOffset)
	return Severity(level + slogOffset)
}

// headerSeverities maps EventHeader's levels to severities. Some producers have a level above verbose for traces.
var headerSeverities = [...]Severity{
	eventheader.LevelCritical:    SeverityFatal,
	eventheader.LevelError:       SeverityError,
	eventheader.LevelWarning:     SeverityWarn,
	eventheader.LevelInfo:        SeverityInfo,
	eventheader.LevelVerbose:     SeverityDebug,
	eventheader.LevelVerbose + 1: SeverityTrace,
}

func severityOfHeader(level eventheader.Level) Severity {
	if int(level) >= len(headerSeverities) {
		return SeverityTrace
	}
	return headerSeverities[level]
}

// lift moves attributes with reserved names from Record.Fields to the event's struct fields. OpenTelemetry's adapters
// write these attributes for lack of a field.
func lift(rec *Record) {
	rec.fields = slices.DeleteFunc(rec.fields, func(f Field) bool {
		return (strings.HasPrefix(f.Name, otelPrefix) || strings.HasPrefix(f.Name, ownPrefix)) && rec.reserved(f)
	})
}

// Prefixes of reserved names: OpenTelemetry's, of its conventions and its specification for formats other than OTLP, and that of
// names for which these have none.
const (
	otelPrefix = "otel."
	ownPrefix  = "user_events."
)

// mayBeReserved reports whether the text of an object may have reserved names.
func mayBeReserved(json string) bool {
	return strings.Contains(json, otelPrefix) || strings.Contains(json, ownPrefix)
}

// reserved applies an attribute with a reserved name, and returns false if its name or value is unknown.
func (rec *Record) reserved(f Field) bool {
	v := f.Value
	switch v.Type() {
	case TypeString:
		return rec.reservedText(f.Name, v.Text())
	case TypeInt64, TypeFloat64:
		return rec.reservedNumber(f.Name, v)
	case TypeBool:
		if f.Name == "user_events.parent_is_remote" {
			rec.ParentRemote = v.Bool()
			return true
		}
	case TypeMap:
		if f.Name == "user_events.scope.attributes" {
			rec.ScopeAttributes = v.Fields()
			return true
		}
	default:
	}
	return false
}

func (rec *Record) reservedText(name, s string) bool {
	switch name {
	case "otel.scope.name":
		rec.ScopeName = s
	case "otel.scope.version":
		rec.ScopeVersion = s
	case "otel.scope.schema_url":
		rec.ScopeSchemaURL = s
	case "user_events.trace_state":
		rec.TraceState = s
	case "otel.status_description":
		rec.StatusMessage = s
	case "user_events.zero_threshold":
		v := numberText(s) // NaN and the infinities are texts
		return v.Type() != TypeNull && rec.reservedNumber(name, v)
	case "otel.status_code":
		if s != "OK" {
			return false
		}
		rec.Status = StatusOK
	default:
		return false
	}
	return true
}

func (rec *Record) reservedNumber(name string, v Value) bool {
	if name == "user_events.zero_threshold" && rec.Point != nil {
		rec.Point.ZeroThreshold = v.Float64()
		return true
	}
	if v.Type() != TypeInt64 || v.Int64() < 0 {
		return false
	}
	n := count(v.Uint64())
	switch name {
	case "otel.dropped_attributes_count":
		rec.DroppedAttributes = n
	case "otel.dropped_events_count":
		rec.DroppedEvents = n
	case "otel.dropped_links_count":
		rec.DroppedLinks = n
	case "user_events.events_count":
		rec.EventCount = n
	case "user_events.links_count":
		rec.LinkCount = n
	default:
		return false
	}
	return true
}
