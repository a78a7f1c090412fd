package otlp

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/userevents/userevents-go/record"
)

const (
	podUID      = "8dbc5577-d0e2-4706-8787-57d52c03ddf2"
	podCgroup   = "/kubepods.slice/kubepods-pod8dbc5577_d0e2_4706_8787_57d52c03ddf2.slice/crio-c0ffee.scope"
	otherPodUID = "00000000-d0e2-4706-8787-57d52c03ddf2"
)

// inPod is a process in a container of a pod.
var inPod = &record.Process{PID: 812, Comm: "myapp", Exe: "/usr/bin/myapp", Cgroup: podCgroup, ContainerID: "c0ffee", PodUID: podUID}

// forged is a resource that claims to be another program's.
func forged() []record.Field {
	return []record.Field{
		field("process.pid", record.Int64Value(1)), field("process.executable.name", record.StringValue("bank")),
		field("container.id", record.StringValue("decade")), field("k8s.pod.uid", record.StringValue(otherPodUID)),
		field("process.linux.cgroup", record.StringValue("/init.scope")), field("host.name", record.StringValue("web1")),
		field("k8s.node.name", record.StringValue("web1")), field("team", record.StringValue("red")),
	}
}

// resourceOf returns the resource of an event of a process with these attributes, as a log record and in a request of OTLP, which can have
// each attribute twice.
func resourceOf(t *testing.T, o *Options, p *record.Process, attributes []record.Field) map[string]any {
	t.Helper()
	c := NewConverter(o)
	add(t, c, event(record.KindLog, func(ev *record.Record) {
		ev.Process, ev.ServiceName, ev.Resource = p, "", attributes
	}))
	resource := c.TakeLogs().ResourceLogs().At(0).Resource().Attributes().AsRaw()

	twice := ""
	for _, f := range append(slices.Clone(attributes), attributes...) {
		twice += fmt.Sprintf(`,{"key":%q,"value":%s}`, f.Name, anyValue(f.Value))
	}
	data, err := (&pmetric.JSONUnmarshaler{}).UnmarshalMetrics([]byte(`{"resourceMetrics":[{"resource":{"attributes":[` + strings.TrimPrefix(twice, ",") +
		`]},"scopeMetrics":[{"metrics":[{"gauge":{"dataPoints":[{"asInt":"1"}]}}]}]}]}`))
	require.NoError(t, err)
	request, err := (&pmetric.ProtoMarshaler{}).MarshalMetrics(data)
	require.NoError(t, err)
	add(t, c, event(record.KindMetric, func(ev *record.Record) {
		ev.Process, ev.ServiceName, ev.Point = p, "", &record.Point{Type: record.PointOTLP, Request: request}
	}))
	attributesOf := c.TakeMetrics().ResourceMetrics().At(0).Resource().Attributes()
	assert.Equal(t, resource, attributesOf.AsRaw())
	for _, f := range c.known(812, cmp.Or(p, &record.Process{})) {
		n := 0
		for name := range attributesOf.All() {
			if name == f.Name {
				n++
			}
		}
		assert.LessOrEqual(t, n, 1, f.Name)
	}
	return resource
}

// anyValue returns a value in OTLP's JSON.
func anyValue(v record.Value) string {
	if v.Type() == record.TypeInt64 {
		return fmt.Sprintf(`{"intValue":"%d"}`, v.Int64())
	}
	return fmt.Sprintf(`{"stringValue":%q}`, v.Text())
}

// TestForgedIdentity: the kernel knows better than a program who it is and where it runs.
func TestForgedIdentity(t *testing.T) {
	assert.Equal(t, map[string]any{
		"process.pid": int64(812), "process.executable.name": "myapp", "container.id": "c0ffee", "k8s.pod.uid": podUID,
		"process.linux.cgroup": podCgroup, "host.name": "node1.example", "k8s.node.name": "node1", "team": "red",
	}, resourceOf(t, &Options{HostName: "node1.example", NodeName: "node1"}, inPod, forged()))

	// A process outside of containers is in none.
	outside := &record.Process{PID: 812, Comm: "myapp", Exe: "/usr/bin/myapp", Cgroup: "/system.slice/myapp.service"}
	assert.Equal(t, map[string]any{
		"process.pid": int64(812), "process.executable.name": "myapp", "process.linux.cgroup": "/system.slice/myapp.service",
		"host.name": "web1", "k8s.node.name": "web1", "team": "red",
	}, resourceOf(t, nil, outside, forged()))

	// What is not known is left to the program: in the root of a cgroup namespace there may be a container.
	unknown := &record.Process{PID: 812, Comm: "myapp", Cgroup: "/"}
	assert.Equal(t, map[string]any{
		"process.pid": int64(812), "process.executable.name": "bank", "container.id": "decade", "k8s.pod.uid": otherPodUID,
		"process.linux.cgroup": "/", "host.name": "web1", "k8s.node.name": "web1", "team": "red",
	}, resourceOf(t, nil, unknown, forged()))
	assert.Equal(t, map[string]any{
		"process.pid": int64(812), "process.executable.name": "bank", "process.linux.cgroup": "/", "host.name": "web1", "k8s.node.name": "web1", "team": "red",
	}, resourceOf(t, &Options{RootCgroup: true}, unknown, forged()), "the root of the machine is no container")
	want := rawOf(forged())
	want["process.pid"] = int64(812)
	assert.Equal(t, want, resourceOf(t, nil, nil, forged()))

	// What is omitted, too.
	omit := &Options{OmitPID: true, OmitExecutableName: true, OmitContainerID: true, OmitPodUID: true, OmitCgroup: true}
	assert.Equal(t, rawOf(forged()), resourceOf(t, omit, inPod, forged()))
	assert.Empty(t, resourceOf(t, omit, inPod, nil))
}

// rawOf returns fields as pdata has them.
func rawOf(fields []record.Field) map[string]any {
	m := pcommon.NewMap()
	NewConverter(nil).putAll(m, fields, 0)
	return m.AsRaw()
}

// TestProcessContext: what a program has published is the resource of all of its data, unless a record says something else.
func TestProcessContext(t *testing.T) {
	p := &record.Process{PID: 812, ServiceName: "shop", ResourceJSON: `{"deployment.environment.name":"prod","team":"blue","process.pid":1}`}
	assert.Equal(t, map[string]any{
		"service.name": "shop", "deployment.environment.name": "prod", "team": "red", "process.pid": int64(812),
	}, resourceOf(t, nil, p, []record.Field{field("team", record.StringValue("red"))}))

	c := NewConverter(nil)
	add(t, c, event(record.KindLog, func(ev *record.Record) { ev.Process = p }))
	name, _ := c.TakeLogs().ResourceLogs().At(0).Resource().Attributes().Get("service.name")
	assert.Equal(t, "shop", name.Str())
}

// TestResourcesOfProcesses: processes share a resource if it would be the same, also when their records come in turns.
func TestResourcesOfProcesses(t *testing.T) {
	copied := *inPod
	context := copied
	context.ResourceJSON = `{"team":"red"}`
	for _, tt := range []struct {
		o    *Options
		pids int32
		want int
	}{{nil, 0, 2}, {nil, 1, 3}, {&Options{OmitPID: true}, 1, 2}} {
		c := NewConverter(tt.o)
		for range 2 {
			for i, p := range []*record.Process{inPod, &copied, &context} {
				add(t, c, event(record.KindLog, func(ev *record.Record) { ev.Process, ev.PID = p, 812+int32(i)*tt.pids }))
			}
		}
		assert.Equal(t, tt.want, c.TakeLogs().ResourceLogs().Len())
	}
	c := NewConverter(nil)
	for range maxOrigins + 1 {
		p := *inPod
		add(t, c, event(record.KindLog, func(ev *record.Record) { ev.Process = &p }))
	}
	assert.LessOrEqual(t, len(c.writers.keys), maxOrigins)
	assert.Equal(t, 1, c.TakeLogs().ResourceLogs().Len())
}
