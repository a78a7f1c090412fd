// Package events tests the events of all adapters together: their names, their fields, and texts in every position.
package events
