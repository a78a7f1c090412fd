package output

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/record"
)

// logOf returns a log record of a program.
func logOf(comm string, pid int32) *record.Record {
	ev := logEvent()
	ev.PID, ev.Process = pid, &record.Process{PID: pid, Comm: comm}
	return ev
}

// TestTextColumns: messages begin in one column once the widest program has come, for any names.
func TestTextColumns(t *testing.T) {
	notice := logOf("a", 1)
	notice.Severity, notice.SeverityText = 0, "NOTICE"
	assert.Equal(t, `20:41:07.318Z DEBUG a[1] cache miss             key=user:41 shard=3
20:41:07.318Z DEBUG webserver[812] cache miss             key=user:41 shard=3
20:41:07.318Z DEBUG a[1]           cache miss             key=user:41 shard=3
20:41:07.318Z DEBUG größe[12]      cache miss             key=user:41 shard=3
20:41:07.318Z NOTICE a[1]           cache miss             key=user:41 shard=3
20:41:07.318Z DEBUG  webserver[812] cache miss             key=user:41 shard=3
`, written(t, "text", Options{Time: UTC}, logOf("a", 1), logOf("webserver", 812), logOf("a", 1), logOf("größe", 12), notice, logOf("webserver", 812)))

	hostile := logOf(strings.Repeat("\x1b", 15), 7)
	hostile.Severity, hostile.SeverityText = 0, strings.Repeat("LOUD", 100)
	lines := strings.Split(written(t, "text", Options{Time: UTC},
		hostile, logOf(strings.Repeat("x", 1000), -1<<31), logOf("a", 1), logOf("a-name-of-fifteen", 1234567)), "\n")
	assert.True(t, strings.HasPrefix(lines[0], `20:41:07.318Z LOUDLOU... \x1b\x1b\x1b\x1b...[7] cache miss `), lines[0])
	assert.True(t, strings.HasPrefix(lines[1], "20:41:07.318Z DEBUG      "+strings.Repeat("x", 17)+"...[-2147483648] cache miss "), lines[1])
	for _, line := range lines[2:4] {
		assert.Equal(t, strings.Index(lines[1], "cache"), strings.Index(line, "cache"), line)
	}
	assert.Contains(t, lines[3], "a-name-of-fifteen[1234567] ", "the names that the kernel keeps are not cut")
}

// TestTextDates: the times of a recording of another day have their dates, and all lines behind one that has it.
func TestTextDates(t *testing.T) {
	at := func(day, hour int) *record.Record {
		return &record.Record{Time: time.Date(2026, 11, day, hour, 30, 0, 42e6, time.UTC), Monotonic: 1e9, Message: "m"}
	}
	today := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	for _, o := range []Options{{Time: UTC}, {Time: UTC, Today: today}} {
		assert.Equal(t, "00:30:00.042Z -     ?[0] m\n23:30:00.042Z -     ?[0] m\n", written(t, "text", o, at(22, 0), at(22, 23)))
	}
	assert.Equal(t, "2026-11-21 23:30:00.042Z m\n2026-11-22 00:30:00.042Z m\n",
		written(t, "text", Options{Time: UTC, Today: today, Fields: []string{"time", "message"}}, at(21, 23), at(22, 0)))
	assert.Equal(t, "22:30:00.042Z m\n2026-11-23 00:30:00.042Z m\n2026-11-22 22:30:00.042Z m\n",
		written(t, "{{.time}} {{.message}}", Options{Time: UTC, Today: today}, at(22, 22), at(23, 0), at(22, 22)))
	for _, format := range []Time{Delta, Mono} {
		assert.Equal(t, written(t, "text", Options{Time: format}, at(21, 0)), written(t, "text", Options{Time: format, Today: today}, at(21, 0)))
	}
	assert.Contains(t, written(t, "json", Options{Today: today}, at(21, 0)), `"time":"2026-11-21T00:30:00.042000000Z"`)

	// The day is that of the zone.
	defer func(zone *time.Location) { time.Local = zone }(time.Local)
	time.Local = time.FixedZone("east", 3600)
	late, early := at(22, 23), at(21, 23)
	assert.Equal(t, "2026-11-23 00:30:00.042", strings.TrimSpace(written(t, "{{.time}}", Options{Today: today}, late)))
	assert.Equal(t, "00:30:00.042", strings.TrimSpace(written(t, "{{.time}}", Options{Today: today}, early)))
}

// TestWholeLine: a line for a search has whole ids and names, and does not depend on earlier ones.
func TestWholeLine(t *testing.T) {
	span := spanEvent()
	span.Process, span.PID = &record.Process{Comm: strings.Repeat("long", 20)}, 7
	link := &record.Record{Kind: record.KindSpanLink, Name: "l", Time: at(0), LinkedTraceID: id16(0xab), LinkedSpanID: [8]byte{0xcd}, SpanID: [8]byte{1}}
	want := `20:41:07.320Z SPAN  ` + strings.Repeat("long", 20) + `[7] GET /users/{id} 12.4ms status=error error="time out"` +
		" trace=4b0102030000000000000000000000ff span=0000000000000009 parent=0100000000000000 truncated=2\n"
	assert.Equal(t, want+"20:41:07.000Z LINK  ?[0] l to ab0102030000000000000000000000ff-cd00000000000000 span=0100000000000000\n"+want,
		written(t, "text", Options{Time: UTC, Whole: true}, span, link, span))
}

// TestSelectedFields: names that are no columns are those of fields, also of names with dots.
func TestSelectedFields(t *testing.T) {
	ev := logEvent()
	ev.SetFields([]record.Field{{Name: "db.table", Value: record.StringValue("users")}, {Name: "n", Value: record.Int64Value(3)}})
	u := NewUnseen("", []string{"time", "db.table", "n", "db.nosuch"})
	u.See(ev)
	assert.Equal(t, []string{"db.nosuch"}, u.Names())
	fields := []string{"db.table", "db.nosuch", "n"}
	require.Equal(t, "db.table=users n=3\n", written(t, "text", Options{Fields: fields}, ev))
	require.Equal(t, `{"db.table":"users","n":3}`+"\n", written(t, "json", Options{Fields: fields}, ev))
	require.Equal(t, "users 3  users\n", written(t, `{{index . "db.table"}} {{.n}} {{index $ "db.nosuch"}} {{.db.table}}`, Options{}, ev))
	require.True(t, utf8.ValidString(written(t, "{{.db.table.x}}", Options{}, ev)), "a name that no record has")
}

// TestTemplateNames: a template gets what it can show, and shows the same as one that gets everything.
func TestTemplateNames(t *testing.T) {
	all := []string{"*"}
	for format, want := range map[string][]string{
		"{{.time}} {{.message}} {{.time}}":                                   {"message", "time"},
		`{{index . "key"}}{{index $ "pid"}}{{$.kind}}`:                       {"key", "kind", "pid"},
		`{{if eq .severity "DEBUG"}}{{.message}}{{else}}{{.shard}}{{end}}`:   {"message", "severity", "shard"},
		`{{with .message}}{{.}}{{$.key}}{{else}}{{.event}}{{end}}`:           {"event", "key", "message"},
		`{{$m := .message}}{{$m | printf "%q"}}{{len (index . "key")}}`:      {"key", "message"},
		`{{range $i := len .message}}{{.}}{{end}}`:                           {"message"},
		`{{define "x"}}{{.}}{{len $}}{{end}}{{template "x" .key}}`:           {"*", "key"}, // $ could be the event
		`{{define "x"}}{{.message}}{{end}}{{template "x" .}}`:                {"*", "message"},
		`{{block "x" .}}{{.key}}{{end}}`:                                     {"*", "key"},
		`{{range $k, $v := .}}{{$k}}={{$v}} {{end}}`:                         all,
		`{{range $}}{{.}}{{end}}`:                                            all,
		`{{len .}}`:                                                          all,
		`{{$e := .}}{{$e.key}}`:                                              {"*", "key"},
		`{{$name := "key"}}{{index . $name}}`:                                all,
		`{{if .nosuch}}{{.}}{{end}}`:                                         {"*", "nosuch"},
		`{{/* a comment */}}no field`:                                        nil,
		`{{with .nosuch}}{{else}}{{len .}}{{end}}`:                           {"*", "nosuch"},
		`{{(index . "key") | len}}{{.key | len}}{{slice .message 1 2}}`:      {"key", "message"},
		`{{range 2}}{{continue}}{{break}}{{end}}{{not .key}}{{.fields}}`:     {"fields", "key"},
		`{{.group.key}}{{$.group.other.key}}{{with .group.key}}{{.}}{{end}}`: {"group.key", "group.other.key"},
	} {
		var named, whole bytes.Buffer
		w, err := newTemplate(format, &named, Options{})
		require.NoError(t, err, format)
		got := w.named.names
		if w.named.all {
			got = append([]string{"*"}, got...)
		}
		assert.Equal(t, want, got, format)
		require.NoError(t, w.Write(logEvent()), format)

		w, err = newTemplate(format, &whole, Options{})
		require.NoError(t, err)
		w.named.all, w.parts = true, nil
		require.NoError(t, w.Write(logEvent()))
		assert.Equal(t, whole.String(), named.String(), format)
	}
}

// TestTemplateFields: a field is shown by its name unless a column of the name has a value.
func TestTemplateFields(t *testing.T) {
	ev := &record.Record{Message: "m"}
	ev.SetFields([]record.Field{{Name: "status", Value: record.Int64Value(404)}, {Name: "message", Value: record.StringValue("x")}})
	assert.Equal(t, "404 m\n", written(t, "{{.status}} {{.message}}", Options{}, ev))
	assert.Equal(t, "404 m map\n", written(t, `{{.status}} {{.message}} {{slice (printf "%T" .) 0 3}}`, Options{}, ev))
}
