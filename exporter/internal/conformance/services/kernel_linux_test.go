package services

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/userevents/userevents-go/internal/kerneltest"
)

// ftrace is a tool of the kernel.
type ftrace struct {
	*kerneltest.Instance
	events []string
	n      int
}

func (f *ftrace) attach() { f.Attach(f.events...) }

func (f *ftrace) detach() {
	f.Detach()
	f.records()
}

func (f *ftrace) records() int {
	f.n += len(f.Records())
	return f.n
}

// TestServicesKernel: three services, of which the second one writes events to the kernel.
func TestServicesKernel(t *testing.T) {
	fs := kerneltest.Require(t)
	name := fmt.Sprintf("middle%d", time.Now().UnixNano())
	tool := &ftrace{Instance: kerneltest.NewInstance(t, fs, 1024)}
	for _, suffix := range []string{"_span_start", "_span", "_span_event", "_span_link", "_log_info"} {
		tool.events = append(tool.events, name+suffix)
	}
	testServices(t, 30, 15, nil, name, tool)
	assert.Zero(t, tool.Stats().Overrun)
}
