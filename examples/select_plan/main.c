/* Prints the device whose plan this phone takes, or one that is described:
 *   select_plan devices.tsv [MANUFACTURER MODEL GPU DRIVER [BAD_DRIVER...]] */
#include <stdio.h>
#include <string.h>

#include "select_plan.h"

static void copy(char* to, size_t size, const char* from) { snprintf(to, size, "%s", from); }

int main(int argc, char** argv) {
  static char table[1 << 16], bad_drivers[1 << 12];
  if (argc != 2 && argc < 6) return 1;
  FILE* file = fopen(argv[1], "rb");
  if (file == NULL) return 1;
  table[fread(table, 1, sizeof(table) - 1, file)] = '\0';
  const int is_whole = fgetc(file) == EOF;
  fclose(file);
  if (!is_whole) return 1;

  phone_t phone;
  phone_read(&phone);
  if (argc >= 6) {
    copy(phone.soc_manufacturer, sizeof(phone.soc_manufacturer), argv[2]);
    copy(phone.soc_model, sizeof(phone.soc_model), argv[3]);
    copy(phone.gpu, sizeof(phone.gpu), argv[4]);
    copy(phone.driver, sizeof(phone.driver), argv[5]);
  }
  for (int i = 6; i < argc; ++i) {
    strncat(bad_drivers, argv[i], sizeof(bad_drivers) - strlen(bad_drivers) - 1);
    strncat(bad_drivers, "\n", sizeof(bad_drivers) - strlen(bad_drivers) - 1);
  }
  char device[96];
  select_device(table, &phone, bad_drivers, device, sizeof(device));
  puts(device);
  return 0;
}
