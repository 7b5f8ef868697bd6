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
// The first `count` bytes at p, 1 <= count; the other lanes are zero. Nothing else is read.
static inline char16 load_bytes(global const char* p, int count) {
  if (count >= 16) return vload16(0, p);
  char16 v = (char16)(0);
  if (count & 1) v.s0 = p[count & ~1];
  if (count & 2) {
    v.s23 = v.s01;
    v.s01 = vload2(0, p + (count & ~3));
  }
  if (count & 4) {
    v.s4567 = v.s0123;
    v.s0123 = vload4(0, p + (count & ~7));
  }
  if (count & 8) {
    v.hi = v.lo;
    v.lo = vload8(0, p);
  }
  return v;
}

// Writes the first `count` lanes to p, 1 <= count; nothing else is written.
static inline void store_bytes(char16 v, global char* p, int count) {
  if (count >= 16) {
    vstore16(v, 0, p);
    return;
  }
  if (count & 8) {
    vstore8(v.lo, 0, p);
    p += 8;
    v.lo = v.hi;
  }
  if (count & 4) {
    vstore4(v.s0123, 0, p);
    p += 4;
    v.s0123 = v.s4567;
  }
  if (count & 2) {
    vstore2(v.s01, 0, p);
    p += 2;
    v.s01 = v.s23;
  }
  if (count & 1) p[0] = v.s0;
}

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
