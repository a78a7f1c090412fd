package reader

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/userevents/userevents-go/internal/processcontext"
)

// TestProcessResource: a process has the attributes that it publishes, each once, but for those that are too large.
func TestProcessResource(t *testing.T) {
	proc := fakeProc{t, t.TempDir()}
	proc.add(100, "myapp", "/usr/bin/myapp", "/")
	proc.publish(100, "service.namespace=acme", "service.name=shop", "long="+strings.Repeat("x", maxResource), "host.name=web1", "host.name=web2", "empty")
	p := newProcesses(proc.dir)
	first := p.at(100, 0)
	assert.Equal(t, "shop", first.ServiceName)
	assert.Equal(t, `{"service.namespace":"acme","host.name":"web1","empty":null}`, first.ResourceJSON)
	assert.Same(t, first, p.at(100, 1<<62), "it is read once")

	// One without a name of the service counts, too.
	proc.add(101, "other", "/other", "/")
	proc.publish(101, "team=x")
	assert.Equal(t, `{"team":"x"}`, p.at(101, 0).ResourceJSON)
	p.update(exec(101, "next"))
	proc.publish(101, "team=y")
	assert.Equal(t, `{"team":"y"}`, p.at(101, 0).ResourceJSON)
}

// TestProcessResources: the resources of all processes have a limit, and those of processes that were forgotten make room.
func TestProcessResources(t *testing.T) {
	proc := fakeProc{t, t.TempDir()}
	p := newProcesses(proc.dir)
	large := "a=" + strings.Repeat("x", maxResource-100)
	proc.add(100, "a", "/a", "/")
	proc.publish(100, "service.name=shop", large)
	p.contexts.bytes.Store(maxAllResources - 100)
	refused := p.at(100, 0)
	assert.Equal(t, "shop", refused.ServiceName)
	assert.Empty(t, refused.ResourceJSON)

	p.contexts.bytes.Store(0)
	for pid := int32(200); pid < 203; pid++ {
		proc.add(pid, "a", "/a", "/")
		proc.publish(pid, large)
		assert.NotEmpty(t, p.at(pid, 0).ResourceJSON)
	}
	assert.Positive(t, p.contexts.bytes.Load())
	p.update(exec(200, "other"))
	p.update(fork(1, 201))
	p.forget(202)
	p.forget(203)
	assert.Zero(t, p.contexts.bytes.Load())
}

// TestContextValues: attributes keep their types.
func TestContextValues(t *testing.T) {
	assert.JSONEq(t, `{"a":[1,"x",null],"b":true,"c":"AQI=","d":0.5}`, MapValue([]Field{
		{"a", contextValue([]any{int64(1), "x", nil})}, {"b", contextValue(true)}, {"c", contextValue([]byte{1, 2})}, {"d", contextValue(0.5)},
	}).String())
	assert.Equal(t, MapValue([]Field{{"k", Int64Value(7)}}), contextValue([]processcontext.Attribute{{Key: "k", Value: int64(7)}}))
}

// TestManyAttributes: a process that publishes thousands of attributes takes memory, and so time, in proportion, not their square.
func TestManyAttributes(t *testing.T) {
	proc := fakeProc{t, t.TempDir()}
	proc.add(100, "a", "/a", "/")
	var list []string
	for i := range 6000 {
		list = append(list, fmt.Sprintf("%04x", i))
	}
	proc.publish(100, list...)
	dir := filepath.Join(proc.dir, "100")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	resource := readContext(dir).resource
	runtime.ReadMemStats(&after)
	assert.Greater(t, len(resource), maxResource-100)
	assert.LessOrEqual(t, len(resource), maxResource)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1000*len(list)))
}
