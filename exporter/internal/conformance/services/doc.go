// Package services tests that attaching a tool changes nothing that HTTP services with OTLP propagate, and that backends get.
package services
