// Package services tests that attaching a tool changes nothing in a chain of HTTP services that send OTLP: what they propagate, and what
// their backends get.
package services
