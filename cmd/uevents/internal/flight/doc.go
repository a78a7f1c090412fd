// Package flight keeps the latest records of events in the kernel's rings, and writes them when something happens.
//
// Each event is opened twice: without a filter into rings that are overwritten, which wake nobody, and with the filter
// of the trigger into a small ring, whose records wake the recorder. Until then, the programs pay for their records and
// for the filter, and the recorder sleeps.
package flight
