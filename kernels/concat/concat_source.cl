// Where the elements lie that a work-item copies from one of several inputs: in from_float,
// from_half or from_byte, by the input's type; if one is bytes, all are, on one grid. START_SOURCE
// declares them, SET_SOURCE chooses element `at` of input i, and FROM_SOURCE(load) is load(type,
// p).
#define START_SOURCE                  \
  global const float* from_float = 0; \
  global const half* from_half = 0;   \
  global const char* from_byte = 0;   \
  bool is_half = false;
#define SET_SOURCE(i, at)                      \
  PASTE(from, STORED(TYPE_##i)) = x##i + (at); \
  is_half = (HALVES >> i & 1) != 0;
#define ALL_INPUTS ((1 << INPUTS) - 1)
#if GRIDS & ALL_INPUTS
#define FROM_SOURCE(load) load(TYPE_0, from_byte)
#elif (HALVES & ALL_INPUTS) == 0
#define FROM_SOURCE(load) load(float, from_float)
#elif (HALVES & ALL_INPUTS) == ALL_INPUTS
#define FROM_SOURCE(load) load(half, from_half)
#else
#define FROM_SOURCE(load) (is_half ? load(half, from_half) : load(float, from_float))
#endif
