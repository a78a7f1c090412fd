package sloghandler

// General lets a handler that has not been used yet, and all that are derived from it, write records in the general way
// even if there is a shorter one.
func General(h *Handler) { h.direct = false }
