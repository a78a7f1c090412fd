package sink

import (
	"errors"

	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
)

// Config is the configuration of the exporter.
type Config struct {
	// Report is the file that receives a Report as JSON, at most ten times a second and at the end.
	Report string `mapstructure:"report"`
	// Stall is the path of a file: while it exists, the exporter waits.
	Stall string `mapstructure:"stall"`
	// Detailed also counts log records and spans by tracepoint, container and program.
	Detailed bool `mapstructure:"detailed"`
	// Delays also counts log records by the time since their timestamp.
	Delays bool `mapstructure:"delays"`
	// Queue is the queue in front of the exporter; none if it is not set.
	Queue configoptional.Optional[exporterhelper.QueueBatchConfig] `mapstructure:"sending_queue"`
}

// Validate reports a configuration without a report.
func (c *Config) Validate() error {
	if c.Report == "" {
		return errors.New("report: no file is named")
	}
	return nil
}
