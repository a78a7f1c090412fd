// Package collectortest tests the Collector that the builder makes of the manifests of collector/distribution, as a whole: its
// configurations, its accounting of records, its permissions and its cost. Its package sink is what the records arrive at.
package collectortest
