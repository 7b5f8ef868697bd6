/* Which of the plans that codl-matrix made is for this phone. C11, nothing but the C library. */
#ifndef SELECT_PLAN_H
#define SELECT_PLAN_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The phone's names for its parts; "" if it has none. */
typedef struct phone_t {
  char soc_manufacturer[96]; /* ro.soc.manufacturer (Android 12 and later) */
  char soc_model[96];        /* ro.soc.model */
  char gpu[96];              /* CL_DEVICE_NAME or GL_RENDERER */
  char driver[96];           /* CL_DRIVER_VERSION */
} phone_t;

/* Fills the SoC's names from Android's properties; elsewhere they stay "". */
void phone_read(phone_t* out_phone);

/* The device of `table` that the phone is, in `out_device` (room for `size` characters); "other"
 * if it is none of them, or its driver begins with a line of `bad_drivers` (may be NULL).
 *
 * table: devices.tsv of codl-matrix, a line a device: name, SoC manufacturers, SoC models, GPU,
 * between tabs, lists with '|' between; other lines are left out. The SoC decides; where the phone
 * does not tell it, or no device has it, the GPU's name does. Of devices that are alike the first
 * is taken. */
void select_device(const char* table, const phone_t* phone, const char* bad_drivers,
                   char* out_device, size_t size);

#ifdef __cplusplus
}
#endif
#endif
