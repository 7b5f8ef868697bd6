// Operands that hold real numbers as bytes, of x, of y or of both, on one grid: byte q stands for
// (q - zero_point) * scale, which are parameters of the kernel. Define: FROM_BYTES, TO_BYTES.
#if FROM_BYTES
#undef TYPE_0
#define TYPE_0 char
#endif
#if TO_BYTES
#undef TYPE_Y
#define TYPE_Y char
#endif
#if FROM_BYTES || TO_BYTES
LANE_FUNCTIONS(char, load_bytes, store_bytes)

// Numbers lie on the grid, so that how ties are rounded does not matter.
#define NUMBERS(bytes, type) ((convert_##type(bytes) - grid_zero_point) * grid_scale)
#define BYTES_OF(v, type) convert_##type##_sat_rte((v) / grid_scale + grid_zero_point)
#define LOAD_ONE_char(p, i) NUMBERS((p)[i], float)
#define LOAD_QUAD_char(p) NUMBERS(*(global const char4*)(p), float4)
#define load_lanes_char(p, count) NUMBERS(load_bytes(p, count), float16)
#define load_lanes4_char(p, count) load_lanes_char(p, count).s0123
#define STORE_ONE_char(v, p, i) (p)[i] = BYTES_OF(v, char)
#define STORE_QUAD_char(v, p) *(global char4*)(p) = BYTES_OF(v, char4)
#define store_lanes_char(v, p, count) store_bytes(BYTES_OF(v, char16), p, count)
#define store_lanes4_char(v, p, count) \
  store_bytes((char16)(BYTES_OF(v, char4), (char4)(0), (char8)(0)), p, count)
#endif
