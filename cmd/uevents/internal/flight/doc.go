// Package flight keeps the latest records of events in the kernel's rings, and writes them when a trigger fires.
//
// Each event is opened twice: without a filter, into rings that are overwritten and wake no reader; and with the filter
// of the trigger, into a small ring whose records wake the recorder. Between triggers the recorder sleeps; the programs
// pay for their records and for the filter.
package flight
