package usereventsreceiver

import (
	"cmp"
	"os"

	"github.com/userevents/userevents-go/internal/sys"
	"github.com/userevents/userevents-go/reader/otlp"
)

// converterOptions returns the options of the conversion.
func (c *Config) converterOptions() *otlp.Options {
	a := &c.Attributes
	o := &otlp.Options{
		DropSpanStarts: !c.Spans.Starts, Raw: c.Mapping == mappingRaw,
		OmitPID: !a.ProcessPid.Enabled, OmitExecutableName: !a.ProcessExecutableName.Enabled, OmitCgroup: !a.ProcessLinuxCgroup.Enabled,
		OmitContainerID: !a.ContainerID.Enabled, OmitPodUID: !a.K8sPodUID.Enabled,
		RootCgroup: sys.InitialNamespace("cgroup"),
		OmitThread: !c.RecordAttributes.ThreadID.Enabled, OmitName: !c.RecordAttributes.Name.Enabled,
		MaxSpans: c.Spans.MaxPending, MaxBytes: c.Spans.MaxSizeMiB << 20, MaxWait: c.Spans.MaxWait,
	}
	if a.HostName.Enabled {
		o.HostName = cmp.Or(c.NodeName, machineName())
	}
	if a.K8sNodeName.Enabled {
		o.NodeName = c.NodeName
	}
	return o
}

// machineName returns the name of the machine, or "" if this process has another one, as in a pod.
func machineName() string {
	if !sys.InitialNamespace("uts") {
		return ""
	}
	name, err := os.Hostname()
	if err != nil {
		return ""
	}
	return name
}
