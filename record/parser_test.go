package record

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Objects of records of all kinds, as an Encoder writes them.
var encoded = []string{
	`{"time":"2026-11-22T20:41:07.318000042Z","monotonic_ns":5000000001,"system":"user_events","event":"myapp_debug","kind":"log",` +
		`"severity":"DEBUG","severity_number":5,"severity_text":"DEBUG","message":"cache miss","program":"myapp","pid":812,"exe":"/usr/bin/myapp",` +
		`"cgroup":"/system.slice/myapp.service","tid":815,"cpu":3,"timestamp":"2026-11-22T20:41:07.317000000Z","fields":{"key":"user:41","shard":3}}`,
	`{"time":"2026-11-22T20:41:07.320000000Z","monotonic_ns":5002500000,"system":"user_events","event":"myapp_span","kind":"span",` +
		`"message":"GET /users/{id}","program":"myapp","pid":812,"exe":"/usr/bin/myapp","cgroup":"/system.slice/myapp.service","tid":812,"cpu":0,` +
		`"trace_id":"4b0102030000000000000000000000ff","span_id":"0000000000000009","parent_span_id":"0100000000000000","trace_flags":0,` +
		`"span_kind":"server","status":"error","status_message":"time out","duration_ns":-12400000,"truncated":2,"service":"shop",` +
		`"scope_attributes":{"a":1},"resource":{"fields":{"b":2}},"events":[{"name":"retry","timestamp":"2026-11-22T20:41:07.000000005Z"}],` +
		`"links":[{"trace_id":"010102030000000000000000000000ff","span_id":"0200000000000000","fields":{"c":[{"fields":{}}]}}]}`,
	`{"time":"2026-11-22T20:41:07.000000000Z","monotonic_ns":4999000000,"system":"user_events","event":"m","kind":"metric",` +
		`"message":"latency","cpu":0,"metric":{"type":"histogram","unit":"s","temporality":"delta","count":3,"sum":1.5,"min":0.25,"max":1.0,"bounds":[0.5],"bucket_counts":[2,1]}}`,
	`{"time":"0001-01-01T00:00:00.000000000Z","kind":"metric","body":[1],"cpu":0,"metric":{"type":"exponential histogram","monotonic":true,` +
		`"start_time":"2026-11-22T20:41:07.000000001Z","value":18446744073709551615,"scale":-1,"zero_count":2,"zero_threshold":0.5,` +
		`"positive":{"offset":-3,"counts":[1]},"quantiles":[{"quantile":0.99,"value":"Infinity"}],"filtered_attributes":{"a":true},"request":"eA=="},` +
		`"callchain":["0xdeadbeef","0x1"]}`,
	`{"time":"2026-11-22T20:41:07.000000000Z","system":"sched","event":"sched_switch","kind":"other","pid":1,"cpu":0,"undecodable":"AP8=",` +
		`"header":{"name":"Startup","id":7,"level":2},"fields":{"prev_comm":"a\\u001bb","none":""}}`,
	`{"time":"2026-11-22T20:41:07.318000042Z","kind":"log","message":"x","stack":[{"function":"main.main"}]}`,
}

// TestMembers: each member has a name of its own, a type, and a place that can be written, and reads what it wrote.
func TestMembers(t *testing.T) {
	names := map[string]bool{}
	for i, m := range Members() {
		assert.False(t, names[m.Name], "%s: two members", m.Name)
		names[m.Name] = true
		assert.Same(t, m, MemberOf(m.Name))
		assert.Equal(t, m.Name == "duration", m.Type == "", m.Name)
		assert.Equal(t, i, m.index)
	}
	assert.LessOrEqual(t, len(recordMembers), maxMembers)
	assert.Nil(t, MemberOf("metric.nosuch"))
	for _, text := range encoded {
		var rec Record
		require.NoError(t, new(Parser).Parse([]byte(text), &rec))
		var e Encoder
		whole, ok := ParseJSON(string(e.Append(nil, &rec)))
		require.True(t, ok)
		for _, m := range Members() {
			value, _ := lookup(whole.Fields(), m.Name)
			got := e.AppendMember(nil, m, &rec)
			if value.Type() == TypeNull {
				assert.Empty(t, got, m.Name)
				continue
			}
			assert.Equal(t, string(value.AppendJSON(nil)), string(got), m.Name)
			switch m.Type {
			case "text":
				assert.Equal(t, value, m.Value(&rec), m.Name)
			case "number", "true":
				assert.Equal(t, string(got), m.Value(&rec).String(), m.Name)
			case "id":
				assert.Equal(t, value.Text(), hex.EncodeToString(m.Value(&rec).Bytes()), m.Name)
			}
		}
	}
}

// TestParts: members that the encoder skips are empty.
func TestParts(t *testing.T) {
	all := []Record{{Kind: KindSpanLink, LinkedSpanID: [8]byte{1}}, {Kind: KindLog, ScopeVersion: "1"}, {Kind: KindLog, Body: BoolValue(true)}}
	for _, text := range encoded {
		var rec Record
		require.NoError(t, new(Parser).Parse([]byte(text), &rec))
		all = append(all, rec)
	}
	var e Encoder
	for i := range all {
		for _, m := range Members() {
			if m.of.part&^partsOf(&all[i]) != 0 {
				assert.Empty(t, e.AppendMember(nil, m, &all[i]), "%s of a %s", m.Name, all[i].Kind)
			}
		}
	}
}

// parsed returns the JSON of the record of an object that is read behind others.
func parsed(p *Parser, text string, before ...string) (string, error) {
	var rec Record
	for _, s := range before {
		_ = p.Parse([]byte(s), &rec)
	}
	if err := p.Parse([]byte(text), &rec); err != nil {
		return "", err
	}
	return string(new(Encoder).Append(nil, &rec)), nil
}

// TestParserSequence: an object means the same whatever was read before it, and each one that an Encoder writes is read in order.
func TestParserSequence(t *testing.T) {
	for _, text := range encoded {
		want, err := parsed(new(Parser), text)
		require.NoError(t, err)
		if !strings.Contains(text, "stack") {
			require.Equal(t, text, want)
		}
		others := slices.Concat(encoded, []string{
			strings.Replace(text, `"cpu":`, `"cpu":1`, 1),
			strings.Replace(text, `"pid":812`, `"pid":81`, 1),
			strings.Replace(text, `"kind":"log"`, `"kind":"other"`, 1),
			strings.Replace(text, `,"exe":"/usr/bin/myapp"`, ``, 1),
			strings.Replace(text, `"severity_text":"DEBUG"`, `"severity_text":"D"`, 1),
			text[:len(text)/2], "{}",
		})
		for _, before := range others {
			p := new(Parser)
			got, err := parsed(p, text, before)
			require.NoError(t, err)
			require.Equal(t, want, got, before)
			got, err = parsed(p, text, before, text)
			require.NoError(t, err)
			require.Equal(t, want, got, before)
			var rec Record
			j := p.begin([]byte(text), &rec)
			require.True(t, p.inOrder(&j, &rec), text)
		}
	}
}

// FuzzParser: what is read from an object is written so that it is read as the same, and it is the same whether it is read in order or not,
// and behind which other one.
func FuzzParser(f *testing.F) {
	for i, text := range encoded {
		f.Add(encoded[(i+1)%len(encoded)], text)
		f.Add(text, text)
	}
	f.Add("", `{"fields":{"a":1},"fields":{"a" :2},"kind":"log"}`)
	f.Add("", `{"fields":{"a" :2},"fields":{"a":1}}`)
	f.Add("", `{"fields":{"a":1},"fields":null}`)
	f.Add("", `{"time":"2026-01-02T03:04:05Z"}"kind":"log"}`)
	f.Add(encoded[0], `{"kind":"log","kind":"span"}`)
	f.Fuzz(func(t *testing.T, before, text string) {
		var p Parser
		var rec Record
		_ = p.Parse([]byte(before), &rec)
		err := p.Parse([]byte(text), &rec)
		var any Record
		var other Parser
		j := other.begin([]byte(text), &any)
		if anyErr := other.inAnyOrder(&j, &any); anyErr != nil {
			require.EqualError(t, err, anyErr.Error())
		}
		if err != nil {
			return
		}
		var e Encoder
		first := string(e.Append(nil, &rec))
		require.Equal(t, string(e.Append(nil, &any)), first)
		require.Equal(t, any.Process, rec.Process)
		whole, ok := ParseJSON(text)
		require.True(t, ok)
		fields, _ := whole.Lookup("fields")
		require.Equal(t, string(AppendJSON(nil, fields.Fields())), string(AppendJSON(nil, rec.Fields())))
		require.Equal(t, first, string(e.Append(nil, &rec)), "its fields are decoded")
		require.NoError(t, p.Parse([]byte(first), &rec), first)
		require.Equal(t, first, string(e.Append(nil, &rec)))
	})
}

// TestParser: an object is parsed without allocating, and what writers keep of a record stays as it is when the text changes.
func TestParser(t *testing.T) {
	var p Parser
	var rec Record
	line := []byte(encoded[0])
	copied := bytes.Clone(line)
	parse := func() {
		copy(line, copied)
		_ = p.Parse(line, &rec)
	}
	parse()
	system, name, process := rec.System, rec.Name, rec.Process
	clear(line)
	assert.Equal(t, []string{"user_events", "myapp_debug"}, []string{system, name})
	assert.Equal(t, &Process{PID: 812, Comm: "myapp", Exe: "/usr/bin/myapp", Cgroup: "/system.slice/myapp.service"}, process)
	assert.Zero(t, testing.AllocsPerRun(100, parse))
	assert.Same(t, process, rec.Process)
	assert.Equal(t, string(copied), string(new(Encoder).Append(nil, &rec)))

	// The offset of a time is no part of its second, and the last member of a name counts, whatever the order.
	for text, want := range map[string]string{
		`{"time":"2026-01-02T03:04:05.1234+01:00"}`:                                                          "2026-01-02T02:04:05.123400000Z",
		`{"time":"2026-01-02T03:04:05.123456789Z"}`:                                                          "2026-01-02T03:04:05.123456789Z",
		`{"time":"2026-01-02T03:04:06.000000000Z","kind":"x","time":"2026-01-02T03:04:06.1Z","kind":"span"}`: "2026-01-02T03:04:06.100000000Z",
	} {
		for range 2 {
			require.NoError(t, p.Parse([]byte(text), &rec))
			assert.Equal(t, want, rec.Time.Format(timeLayout))
			assert.Equal(t, time.UTC, rec.Time.Location())
		}
	}
}

// TestParserKeepsLittle: records of one process share it, and the processes and names that are kept are limited.
func TestParserKeepsLittle(t *testing.T) {
	var p, other Parser
	known := map[int32]*Process{}
	for i := range 3 * maxKnown {
		var rec Record
		pid := i%2 + i/100*2
		require.NoError(t, p.Parse(fmt.Appendf(nil, `{"event":"e%d","pid":%d,"program":"myapp"}`, i, pid), &rec))
		require.Equal(t, &Process{PID: int32(pid), Comm: "myapp"}, rec.Process)
		if before := known[rec.PID]; before != nil {
			require.Same(t, before, rec.Process)
		}
		known[rec.PID] = rec.Process
		object := fmt.Appendf(nil, `{"system":"%s%d","event":"e%d","pid":%d,"program":"p%d"}`, strings.Repeat("x", maxKnownName), i, i, i, i)
		require.NoError(t, other.Parse(object, &rec))
		for _, p := range []*Parser{&p, &other} {
			require.LessOrEqual(t, len(p.processes), maxKnown)
			require.LessOrEqual(t, len(p.names), maxKnown)
		}
	}
	for name := range other.names {
		require.LessOrEqual(t, len(name), maxKnownName)
	}
}
