/* SPDX-License-Identifier: MIT */
/* places: addresses of all groups of executors. */
#ifndef CTL_DOCTOR_PLACES_H
#define CTL_DOCTOR_PLACES_H

#include "ctl/doctor/words.h"
#include "shardwheel/store/registry.h"

struct executor_place {
    char *address; /* as in the list, without the slash at its end */
    const struct group_row *group;
};
struct executor_places {
    struct executor_place *items; /* by address */
    size_t count;
};
/* Borrows the groups. */
MUST_CHECK enum err executor_places_make(const struct group_list *groups, struct executor_places *out,
                                         struct errctx *ec);
void executor_places_fini(struct executor_places *places);
void place_add(struct words *words, const struct executor_place *place); /* with its group */
/* "host:port" of a URL, without a path; false for what is none. *host_len: of the part before the port. */
bool place_take_host(const char *url, char *out, size_t size, size_t *host_len);
bool executor_is_loopback(const char *address);

#endif
