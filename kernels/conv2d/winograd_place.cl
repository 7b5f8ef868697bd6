// Finds where kernels by Winograd's method (winograd.h) have their tiles of OUTPUTS x OUTPUTS.
//
// The arguments of group Winograd describe the part: tiles of all images, rows of tiles of one and
// the first of them, output rows. x is zero outside rows [x_row_begin, x_row_end), which it holds,
// and outside the map.
#define INPUTS (OUTPUTS + 2)
#define POSITIONS (INPUTS * INPUTS)

// Places the first output of a tile.
typedef struct {
  int image;
  int row;
  int column;
} TilePlace;

static inline TilePlace tile_place(int tile, int tile_rows, int tile_columns, int first_tile_row) {
  const int line = tile / tile_columns;
  const TilePlace place = {line / tile_rows, (first_tile_row + line % tile_rows) * OUTPUTS,
                           tile % tile_columns * OUTPUTS};
  return place;
}
