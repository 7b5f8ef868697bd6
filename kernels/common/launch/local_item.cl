// Returns the item's number in its group, in 32 bits. Intel's CPU runtime 2026.2 loses stores to
// local memory at places that are computed in get_local_id()'s 64 bits (docs/results/drivers.md).
static inline uint local_item(void) { return (uint)get_local_id(0); }
