package usereventsreceiver

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/sys"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/reader/otlp"
)

// TestConverterOptions: the configuration says which resource attributes there are, and the name of the node.
func TestConverterOptions(t *testing.T) {
	root := sys.InitialNamespace("cgroup")
	assert.Equal(t, &otlp.Options{
		RootCgroup: root, Raw: true, OmitPID: true, OmitExecutableName: true, OmitCgroup: true, OmitContainerID: true, OmitPodUID: true, OmitName: true,
		MaxSpans: 1000, MaxBytes: 4 << 20, MaxWait: 5 * time.Second,
	}, load(t, "user_events/all").converterOptions())
	cfg := defaultConfig()
	assert.Equal(t, &otlp.Options{
		RootCgroup: root, DropSpanStarts: true, OmitThread: true, HostName: machineName(), MaxSpans: 10_000, MaxBytes: 16 << 20, MaxWait: 2 * time.Second,
	}, cfg.converterOptions())
	cfg.NodeName = "node1"
	assert.Equal(t, "node1", cfg.converterOptions().HostName)
	assert.Equal(t, "node1", cfg.converterOptions().NodeName)
}

// TestNode: records have the name of their node.
func TestNode(t *testing.T) {
	m := newMachine(t, nil)
	var s sink
	cfg := fast()
	cfg.NodeName, cfg.Attributes.HostName.Enabled = "node1", true
	l := m.logger("myapp")
	_, _ = m.start(cfg, &s)
	m.waitForSource()
	l.Info("hello")
	testscale.Eventually(t, func() bool { return s.LogRecordCount() == 1 }, "the record does not arrive")
	resource := s.AllLogs()[0].ResourceLogs().At(0).Resource().Attributes().AsRaw()
	require.Equal(t, "node1", resource["host.name"])
	assert.Equal(t, "node1", resource["k8s.node.name"])
}
