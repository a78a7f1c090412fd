package uevents

import "math"

// RemovalWaits is how often a provider waits for the kernel to remove an event of other fields.
const RemovalWaits = removalWaits

// WaitForRemoval makes a provider wait as long as the kernel takes.
func (p *Provider) WaitForRemoval() { p.waited.Store(math.MinInt64) }
