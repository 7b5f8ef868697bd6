// Loads and stores operands in memory as floats, as halves or as bytes. All arithmetic but that of
// products.cl is in float. vload_half and vstore_half are core OpenCL C 1.2: what is loaded is
// exact, what is stored is rounded to nearest even, and infinite beyond 65504. Byte q of operand i
// stands for (q - byte_i_zero) * byte_i_scale; a number is stored as the nearest byte, ties to even,
// and byte_Y_scale is one over its scale.
//
// HALVES, GRIDS (-D, kernels/kernel_table.cc): bit i: the input that is argument i is stored as
// halves, as bytes; bit 15: the output is. TYPE_0, TYPE_1 ... TYPE_Y: the types in memory of inputs
// and output; half is a type of pointers only, so a kernel takes them to the macros below. STORED()
// of a type is float, half or byte.
#ifndef HALVES
#define HALVES 0
#endif
#ifndef GRIDS
#define GRIDS 0
#endif
#define PASTE_TOKENS(name, type) name##_##type
#define PASTE(name, type) PASTE_TOKENS(name, type)
#define OF_LANES_TOKENS(type, lanes) type##lanes
#define OF_LANES(type, lanes) OF_LANES_TOKENS(type, lanes)
typedef char byte_0, byte_1, byte_2, byte_3, byte_4, byte_5, byte_6, byte_7, byte_8, byte_9,
    byte_10, byte_11, byte_12, byte_13, byte_14, byte_Y;
#define STORED_float float
#define STORED_half half
#define STORED_byte_0 byte
#define STORED_byte_1 byte
#define STORED_byte_2 byte
#define STORED_byte_3 byte
#define STORED_byte_4 byte
#define STORED_byte_5 byte
#define STORED_byte_6 byte
#define STORED_byte_7 byte
#define STORED_byte_8 byte
#define STORED_byte_9 byte
#define STORED_byte_10 byte
#define STORED_byte_11 byte
#define STORED_byte_12 byte
#define STORED_byte_13 byte
#define STORED_byte_14 byte
#define STORED_byte_Y byte
#define STORED(type) PASTE(STORED, type)
#if HALVES >> 0 & 1
#define TYPE_0 half
#elif GRIDS >> 0 & 1
#define TYPE_0 byte_0
#else
#define TYPE_0 float
#endif
#if HALVES >> 1 & 1
#define TYPE_1 half
#elif GRIDS >> 1 & 1
#define TYPE_1 byte_1
#else
#define TYPE_1 float
#endif
#if HALVES >> 2 & 1
#define TYPE_2 half
#elif GRIDS >> 2 & 1
#define TYPE_2 byte_2
#else
#define TYPE_2 float
#endif
#if HALVES >> 3 & 1
#define TYPE_3 half
#elif GRIDS >> 3 & 1
#define TYPE_3 byte_3
#else
#define TYPE_3 float
#endif
#if HALVES >> 4 & 1
#define TYPE_4 half
#elif GRIDS >> 4 & 1
#define TYPE_4 byte_4
#else
#define TYPE_4 float
#endif
#if HALVES >> 5 & 1
#define TYPE_5 half
#elif GRIDS >> 5 & 1
#define TYPE_5 byte_5
#else
#define TYPE_5 float
#endif
#if HALVES >> 6 & 1
#define TYPE_6 half
#elif GRIDS >> 6 & 1
#define TYPE_6 byte_6
#else
#define TYPE_6 float
#endif
#if HALVES >> 7 & 1
#define TYPE_7 half
#elif GRIDS >> 7 & 1
#define TYPE_7 byte_7
#else
#define TYPE_7 float
#endif
#if HALVES >> 8 & 1
#define TYPE_8 half
#elif GRIDS >> 8 & 1
#define TYPE_8 byte_8
#else
#define TYPE_8 float
#endif
#if HALVES >> 9 & 1
#define TYPE_9 half
#elif GRIDS >> 9 & 1
#define TYPE_9 byte_9
#else
#define TYPE_9 float
#endif
#if HALVES >> 10 & 1
#define TYPE_10 half
#elif GRIDS >> 10 & 1
#define TYPE_10 byte_10
#else
#define TYPE_10 float
#endif
#if HALVES >> 11 & 1
#define TYPE_11 half
#elif GRIDS >> 11 & 1
#define TYPE_11 byte_11
#else
#define TYPE_11 float
#endif
#if HALVES >> 12 & 1
#define TYPE_12 half
#elif GRIDS >> 12 & 1
#define TYPE_12 byte_12
#else
#define TYPE_12 float
#endif
#if HALVES >> 13 & 1
#define TYPE_13 half
#elif GRIDS >> 13 & 1
#define TYPE_13 byte_13
#else
#define TYPE_13 float
#endif
#if HALVES >> 14 & 1
#define TYPE_14 half
#elif GRIDS >> 14 & 1
#define TYPE_14 byte_14
#else
#define TYPE_14 float
#endif
#if HALVES >> 15 & 1
#define TYPE_Y half
#elif GRIDS >> 15 & 1
#define TYPE_Y byte_Y
#else
#define TYPE_Y float
#endif
// NUMBERS makes numbers, of type `to`, of bytes of an operand, and BYTES_FOR bytes of numbers.
#define NUMBERS(type, to, bytes) \
  ((PASTE(convert, to)(bytes) - PASTE(type, zero)) * PASTE(type, scale))
#define BYTES_FOR(type, to, v) \
  PASTE(PASTE(convert, to), sat)(rint((v)*PASTE(type, scale)) + PASTE(type, zero))
// A lane without a byte is the number 0.
#define NO_BYTE(type) convert_char(PASTE(type, zero))

// load(p, count) gives the first `count` elements at p, 1 <= count; the other lanes are `none`, an
// expression, of which NONE declares what it needs. Nothing else is read: lanes go from last to
// first, so that each step moves what is there up by a fixed amount. store(v, p, count) writes the
// first `count` lanes to p, and nothing else.
#define LANE_FUNCTIONS(type, load, store, NONE, none)                 \
  static inline type##16 load(global const type* p, int count NONE) { \
    if (count >= 16) return vload16(0, p);                            \
    type##16 v = (type##16)(none);                                    \
    if (count & 1) v.s0 = p[count & ~1];                              \
    if (count & 2) {                                                  \
      v.s23 = v.s01;                                                  \
      v.s01 = vload2(0, p + (count & ~3));                            \
    }                                                                 \
    if (count & 4) {                                                  \
      v.s4567 = v.s0123;                                              \
      v.s0123 = vload4(0, p + (count & ~7));                          \
    }                                                                 \
    if (count & 8) {                                                  \
      v.hi = v.lo;                                                    \
      v.lo = vload8(0, p);                                            \
    }                                                                 \
    return v;                                                         \
  }                                                                   \
  static inline void store(type##16 v, global type* p, int count) {   \
    if (count >= 16) {                                                \
      vstore16(v, 0, p);                                              \
      return;                                                         \
    }                                                                 \
    if (count & 8) {                                                  \
      vstore8(v.lo, 0, p);                                            \
      p += 8;                                                         \
      v.lo = v.hi;                                                    \
    }                                                                 \
    if (count & 4) {                                                  \
      vstore4(v.s0123, 0, p);                                         \
      p += 4;                                                         \
      v.s0123 = v.s4567;                                              \
    }                                                                 \
    if (count & 2) {                                                  \
      vstore2(v.s01, 0, p);                                           \
      p += 2;                                                         \
      v.s01 = v.s23;                                                  \
    }                                                                 \
    if (count & 1) p[0] = v.s0;                                       \
  }
#define NO_PARAM
LANE_FUNCTIONS(float, load_lanes, store_lanes, NO_PARAM, 0)

#if GRIDS
#define BYTE_PARAM , char none
LANE_FUNCTIONS(char, load_bytes, store_bytes, BYTE_PARAM, none)
static inline char4 load_bytes4(global const char* p, int count, char none) {
  if (count >= 4) return vload4(0, p);
  return (char4)(p[0], count > 1 ? p[1] : none, count > 2 ? p[2] : none, none);
}
static inline void store_bytes4(char4 v, global char* p, int count) {
  if (count >= 4) {
    vstore4(v, 0, p);
    return;
  }
  p[0] = v.x;
  if (count > 1) p[1] = v.y;
  if (count > 2) p[2] = v.z;
}
#endif
static inline float16 load_halves(global const half* p, int count) {
  if (count >= 16) return vload_half16(0, p);
  float16 v = (float16)(0.0f);
  if (count & 1) v.s0 = vload_half(count & ~1, p);
  if (count & 2) {
    v.s23 = v.s01;
    v.s01 = vload_half2(0, p + (count & ~3));
  }
  if (count & 4) {
    v.s4567 = v.s0123;
    v.s0123 = vload_half4(0, p + (count & ~7));
  }
  if (count & 8) {
    v.hi = v.lo;
    v.lo = vload_half8(0, p);
  }
  return v;
}

static inline void store_halves(float16 v, global half* p, int count) {
  if (count >= 16) {
    vstore_half16(v, 0, p);
    return;
  }
  if (count & 8) {
    vstore_half8(v.lo, 0, p);
    p += 8;
    v.lo = v.hi;
  }
  if (count & 4) {
    vstore_half4(v.s0123, 0, p);
    p += 4;
    v.s0123 = v.s4567;
  }
  if (count & 2) {
    vstore_half2(v.s01, 0, p);
    p += 2;
    v.s01 = v.s23;
  }
  if (count & 1) vstore_half(v.s0, 0, p);
}

// These choose load_lanes() and store_lanes() by an operand's type.
#define load_lanes_float(type, p, count) load_lanes(p, count)
#define load_lanes_half(type, p, count) load_halves(p, count)
#define load_lanes_byte(type, p, count) NUMBERS(type, float16, load_bytes(p, count, NO_BYTE(type)))
#define LOAD_LANES(type, p, count) PASTE(load_lanes, STORED(type))(type, p, count)
#define store_lanes_float(type, v, p, count) store_lanes(v, p, count)
#define store_lanes_half(type, v, p, count) store_halves(v, p, count)
#define store_lanes_byte(type, v, p, count) store_bytes(BYTES_FOR(type, char16, v), p, count)
#define STORE_LANES(type, v, p, count) PASTE(store_lanes, STORED(type))(type, v, p, count)
// Element i behind p.
#define LOAD_ONE_float(type, p, i) (p)[i]
#define LOAD_ONE_half(type, p, i) vload_half(i, p)
#define LOAD_ONE_byte(type, p, i) NUMBERS(type, float, (p)[i])
#define LOAD_ONE(type, p, i) PASTE(LOAD_ONE, STORED(type))(type, p, i)
#define STORE_ONE_float(type, v, p, i) (p)[i] = v
#define STORE_ONE_half(type, v, p, i) vstore_half(v, i, p)
#define STORE_ONE_byte(type, v, p, i) (p)[i] = BYTES_FOR(type, char, v)
#define STORE_ONE(type, v, p, i) PASTE(STORE_ONE, STORED(type))(type, v, p, i)
// Loads four elements at p, which is that of a first one of four: 16 bytes, 8 of halves, or 4.
#define LOAD_QUAD_float(type, p) (*(global const float4*)(p))
#define LOAD_QUAD_half(type, p) vloada_half4(0, p)
#define LOAD_QUAD_byte(type, p) NUMBERS(type, float4, *(global const char4*)(p))
#define LOAD_QUAD(type, p) PASTE(LOAD_QUAD, STORED(type))(type, p)
#define STORE_QUAD_float(type, v, p) *(global float4*)(p) = v
#define STORE_QUAD_half(type, v, p) vstorea_half4(v, 0, p)
#define STORE_QUAD_byte(type, v, p) *(global char4*)(p) = BYTES_FOR(type, char4, v)
#define STORE_QUAD(type, v, p) PASTE(STORE_QUAD, STORED(type))(type, v, p)
// Does the same at any element.
#define LOAD_4_float(type, p) vload4(0, p)
#define LOAD_4_half(type, p) vload_half4(0, p)
#define LOAD_4_byte(type, p) NUMBERS(type, float4, vload4(0, p))
#define LOAD_4(type, p) PASTE(LOAD_4, STORED(type))(type, p)
#define STORE_4_float(type, v, p) vstore4(v, 0, p)
#define STORE_4_half(type, v, p) vstore_half4(v, 0, p)
#define STORE_4_byte(type, v, p) vstore4(BYTES_FOR(type, char4, v), 0, p)
#define STORE_4(type, v, p) PASTE(STORE_4, STORED(type))(type, v, p)
#define LOAD_8_float(type, p) vload8(0, p)
#define LOAD_8_half(type, p) vload_half8(0, p)
#define LOAD_8_byte(type, p) NUMBERS(type, float8, vload8(0, p))
#define LOAD_8(type, p) PASTE(LOAD_8, STORED(type))(type, p)
#define STORE_8_float(type, v, p) vstore8(v, 0, p)
#define STORE_8_half(type, v, p) vstore_half8(v, 0, p)
#define STORE_8_byte(type, v, p) vstore8(BYTES_FOR(type, char8, v), 0, p)
#define STORE_8(type, v, p) PASTE(STORE_8, STORED(type))(type, v, p)
// Writes the first `count` of four lanes to p, 1 <= count; nothing else is written.
#define STORE_LANES4_OF(type)                                                      \
  static inline void store_lanes4_of_##type(float4 v, global type* p, int count) { \
    if (count >= 4) {                                                              \
      STORE_4_##type(type, v, p);                                                  \
      return;                                                                      \
    }                                                                              \
    STORE_ONE_##type(type, v.x, p, 0);                                             \
    if (count > 1) STORE_ONE_##type(type, v.y, p, 1);                              \
    if (count > 2) STORE_ONE_##type(type, v.z, p, 2);                              \
  }
STORE_LANES4_OF(float)
STORE_LANES4_OF(half)
#define STORE_LANES4_float(type, v, p, count) store_lanes4_of_float(v, p, count)
#define STORE_LANES4_half(type, v, p, count) store_lanes4_of_half(v, p, count)
#define STORE_LANES4_byte(type, v, p, count) store_bytes4(BYTES_FOR(type, char4, v), p, count)
#define STORE_LANES4(type, v, p, count) PASTE(STORE_LANES4, STORED(type))(type, v, p, count)
// Loads elements i to i + 3 of those that are `step` apart; element `last` stands for what would be
// behind it.
#define LOAD_STRIDED4(type, p, i, last, step)                                               \
  (float4)(LOAD_ONE(type, p, (i) * (step)), LOAD_ONE(type, p, min((i) + 1, last) * (step)), \
           LOAD_ONE(type, p, min((i) + 2, last) * (step)),                                  \
           LOAD_ONE(type, p, min((i) + 3, last) * (step)))

// Points to element i of p, which is not negative. The offset has 32 bits, in bytes: where pointers
// are pairs of registers, an int takes twice as many instructions.
#define BYTES_float 4u
#define BYTES_half 2u
#define BYTES_byte 1u
#define ELEMENT_AT(type, p, i) \
  ((global type*)((global char*)(p) + (uint)(i)*PASTE(BYTES, STORED(type))))

// GRID_PARAMS_OF declares the parameters of an operand's grid, and GRID_OF passes them on, behind
// others: for functions that load from the operand. ALL_GRIDS: those of all operands.
#define GRID_PARAMS_float(type)
#define GRID_PARAMS_half(type)
#define GRID_PARAMS_byte(type) , float PASTE(type, scale), float PASTE(type, zero)
#define GRID_PARAMS_OF(type) PASTE(GRID_PARAMS, STORED(type))(type)
#define GRID_float(type)
#define GRID_half(type)
#define GRID_byte(type) , PASTE(type, scale), PASTE(type, zero)
#define GRID_OF(type) PASTE(GRID, STORED(type))(type)
#if GRIDS
#define FOUR_GRIDS(a, b, c, d) \
  GRID_PARAMS_OF(a) GRID_PARAMS_OF(b) GRID_PARAMS_OF(c) GRID_PARAMS_OF(d)
#define ALL_GRIDS                              \
  FOUR_GRIDS(TYPE_0, TYPE_1, TYPE_2, TYPE_3)   \
  FOUR_GRIDS(TYPE_4, TYPE_5, TYPE_6, TYPE_7)   \
  FOUR_GRIDS(TYPE_8, TYPE_9, TYPE_10, TYPE_11) \
  FOUR_GRIDS(TYPE_12, TYPE_13, TYPE_14, TYPE_Y)
#else
#define ALL_GRIDS
#endif
