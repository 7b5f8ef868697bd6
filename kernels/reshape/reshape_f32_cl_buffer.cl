// Copies item_count chunks of 16 elements, the last of which may be shorter, from x to y.
kernel void reshape_f32_cl_buffer(global const TYPE_0* restrict x,
                                  global TYPE_Y* restrict y PARAMS(ReshapeBuffer)) {
  const int id = get_global_id(0);
  if (id >= item_count) return;
  const int count = min(16, element_count - id * 16);
  STORE_LANES(TYPE_Y, LOAD_LANES(TYPE_0, x + id * 16, count), y + id * 16, count);
}
