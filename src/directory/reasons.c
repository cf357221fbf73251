/* SPDX-License-Identifier: MIT */
#include "directory/reasons.h"

#include <stdlib.h>
#include <string.h>

#include "shardwheel/base.h"

#define BEFORE_CODE ", data "

const char *reason_of_bind(const char *words, bool *expired)
{
    static const struct {
        unsigned long code; /* of Windows, as hexadecimal digits in the text */
        const char *reason;
        bool expired;
    } reasons[] = {
        {0x525, "there is no such user", false},
        {0x52e, "the password is wrong", false},
        {0x530, "the user may not log in at this time", false},
        {0x531, "the user may not log in from this machine", false},
        {0x532, "the password has expired", true},
        {0x533, "the account is disabled", false},
        {0x568, "the user is in too many groups", false},
        {0x701, "the account has expired", false},
        {0x773, "the password must be changed", true},
        {0x775, "the account is locked", false},
    };
    const char *at = strncmp(words, "8009", 4) ? NULL : strstr(words, BEFORE_CODE);
    char *end = NULL;

    *expired = false;
    if (!at)
        return NULL;
    at += sizeof BEFORE_CODE - 1;
    unsigned long code = *at == ' ' ? 0 : strtoul(at, &end, 16);
    for (size_t i = 0; i < ARRAY_LEN(reasons) && end && *end == ','; i++) {
        if (reasons[i].code == code) {
            *expired = reasons[i].expired;
            return reasons[i].reason;
        }
    }
    return NULL;
}
