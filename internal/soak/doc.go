// Package soak has a test that runs for as long as it is told: eight writers, a session that reads, and faults in random order
// around them. At its end nothing has grown, and every record that was written was read or reported as lost.
package soak
