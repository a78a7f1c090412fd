// Package sink is an exporter for tests of a whole Collector: it counts what arrives, discards it, and can stall.
package sink
