package otlp

import (
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// field returns the size of a message of so many bytes as a field of another one. All fields on
// the way from a request to a point have numbers with a tag of one byte.
func field(size int) int { return 1 + protowire.SizeBytes(size) }

// sizes are those of the messages that are open in a request, from the outermost inwards, each
// without the open one inside of it. They are exact: a length that grows by a byte counts.
type sizes struct {
	resource int // ResourceMetrics
	scope    int // ScopeMetrics
	metric   int // Metric
	data     int // Gauge, Sum and so on, with points
}

// request returns the size of the whole request, if so many bytes of points were added.
func (s *sizes) request(more int) int {
	return field(s.resource + field(s.scope+field(s.metric+field(s.data+more))))
}

// closeMetric makes the open metric a part of the scope.
func (s *sizes) closeMetric() { s.scope += field(s.metric + field(s.data)) }

// closeScope makes the open scope a part of the resource.
func (s *sizes) closeScope() { s.resource += field(s.scope) }

// openMetric sets the sizes of a metric without points.
func (s *sizes) openMetric(m *metricspb.Metric) {
	empty := part(m, 0, 0)
	data := proto.Size(empty)
	empty.Data = nil
	s.metric = proto.Size(empty)
	s.data = data - s.metric - field(0) // temporality and so on: the length has one byte
}
