package perfetto

import "github.com/userevents/userevents-go/internal/sys"

// MachineClocks reads the clocks of this machine. It is for NewWriter.
func MachineClocks() (Clocks, error) {
	mono, wall := sys.Clocks()
	before, boot := sys.BootClocks()
	return Clocks{Monotonic: uint64(mono), Boottime: uint64(boot - before + mono), Realtime: uint64(wall)}, nil
}
