#include "select_plan.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#ifdef __ANDROID__
#include <sys/system_properties.h>
#endif

enum { kColumns = 4 }; /* name, manufacturers, models, GPU */

/* A piece of text that ends before a tab, line end or '|'. */
typedef struct piece_t {
  const char* text;
  size_t length;
} piece_t;

static piece_t piece_until(const char* text, const char* ends) {
  piece_t piece = {text, strcspn(text, ends)};
  return piece;
}

/* Letters and digits, in lower case, without what vendors put between: "Adreno (TM) 640" is
 * "adreno640". */
static void simplify(piece_t piece, char* out, size_t size) {
  size_t used = 0;
  for (size_t i = 0; i < piece.length && used + 1 < size; ++i) {
    if (piece.length - i >= 4 && strncmp(piece.text + i, "(TM)", 4) == 0) {
      i += 3;
      continue;
    }
    if (isalnum((unsigned char)piece.text[i]))
      out[used++] = (char)tolower((unsigned char)piece.text[i]);
  }
  out[used] = '\0';
}

/* True if one of the names of a list is `name`, whatever its case. */
static bool has_name(piece_t list, const char* name) {
  char wanted[96], found[96];
  const piece_t all = {name, strlen(name)};
  simplify(all, wanted, sizeof(wanted));
  const char* end = list.text + list.length;
  for (const char* at = list.text; wanted[0] != '\0' && at < end;) {
    const piece_t one = piece_until(at, "|\t\n");
    simplify(one, found, sizeof(found));
    if (strcmp(found, wanted) == 0) return true;
    at += one.length + 1;
  }
  return false;
}

/* "Mali-G76 r0p0" is a Mali-G76, and neither a Mali-G7 nor a Mali-G760. */
static bool is_gpu(piece_t listed, const char* gpu) {
  char wanted[96], found[96];
  const piece_t all = {gpu, strlen(gpu)};
  simplify(listed, wanted, sizeof(wanted));
  simplify(all, found, sizeof(found));
  const char* at = wanted[0] != '\0' ? strstr(found, wanted) : NULL;
  return at != NULL && !isdigit((unsigned char)at[strlen(wanted)]);
}

/* A name that codl-matrix gives: it can be a folder's, and is not "..". */
static bool is_device(piece_t name) {
  for (size_t i = 0; i < name.length; ++i) {
    const unsigned char byte = (unsigned char)name.text[i];
    if (byte < 0x80 && !isalnum(byte) && strchr("_.+-", byte) == NULL) return false;
  }
  return name.length > 0 && name.text[0] != '.';
}

static bool is_bad(const char* driver, const char* bad_drivers) {
  for (const char* at = bad_drivers; at != NULL && *at != '\0';) {
    const piece_t line = piece_until(at, "\n");
    if (line.length > 0 && strncmp(driver, line.text, line.length) == 0) return true;
    at += line.length + (at[line.length] == '\n');
  }
  return false;
}

void phone_read(phone_t* out_phone) {
  memset(out_phone, 0, sizeof(*out_phone));
#ifdef __ANDROID__
  /* Both have room for PROP_VALUE_MAX (92). */
  __system_property_get("ro.soc.manufacturer", out_phone->soc_manufacturer);
  __system_property_get("ro.soc.model", out_phone->soc_model);
#endif
}

void select_device(const char* table, const phone_t* phone, const char* bad_drivers,
                   char* out_device, size_t size) {
  piece_t by_soc = {NULL, 0}, by_gpu = {NULL, 0};
  const char* at = table;
  while (*at != '\0') {
    piece_t columns[kColumns];
    int count = 0;
    char end = '\t'; /* ends the last column */
    while (end == '\t') {
      const piece_t column = piece_until(at, "\t\n");
      if (count < kColumns) columns[count] = column;
      ++count;
      end = at[column.length];
      at += column.length + (end != '\0');
    }
    if (count != kColumns || end != '\n' || !is_device(columns[0])) continue;
    if (by_soc.text == NULL && has_name(columns[1], phone->soc_manufacturer) &&
        has_name(columns[2], phone->soc_model))
      by_soc = columns[0];
    if (by_gpu.text == NULL && is_gpu(columns[3], phone->gpu)) by_gpu = columns[0];
  }
  const piece_t other = {"other", 5};
  piece_t chosen = by_soc.text != NULL ? by_soc : by_gpu.text != NULL ? by_gpu : other;
  if (is_bad(phone->driver, bad_drivers)) chosen = other;
  snprintf(out_device, size, "%.*s", (int)chosen.length, chosen.text);
}
