/* SPDX-License-Identifier: MIT */
/* The certificate of server.ssl., as a node with these settings would read it. */
#include "ctl/doctor/check.h"

#include "shardwheel/http/tls.h"

#define DAY_S (INT64_C(24) * 3600)
#define SOON_S (14 * DAY_S)

static void tell_times(struct doctor *d, const char *where, const struct tls_facts *facts)
{
    int64_t now_s = clock_wall_ms(d->clock) / 1000;
    char until[TIME_TEXT_MAX] = "", from[TIME_TEXT_MAX] = "";

    if (!time_put_text(facts->until_s * 1000, until) || !time_put_text(facts->from_s * 1000, from))
        return;
    if (facts->until_s <= now_s)
        doctor_tell(
            d, DOCTOR_CRITICAL, "https_expired", where, "Replace the files; nodes read them again by themselves.",
            "The certificate of %.200s expired at %s: programs that check it refuse the nodes.", facts->name, until);
    else if (facts->from_s > now_s)
        doctor_tell(d, DOCTOR_CRITICAL, "https_expired", where, "Check the clock of this machine, and the certificate.",
                    "The certificate of %.200s is not valid before %s.", facts->name, from);
    else if (facts->until_s - now_s < SOON_S)
        doctor_tell(d, DOCTOR_WARNING, "https_expires_soon", where,
                    "Replace the files in time; nodes read them again by themselves.",
                    "The certificate of %.200s expires at %s.", facts->name, until);
}

static enum err check_https(struct doctor *d, struct errctx *ec)
{
    struct tls_files files;
    struct tls_server *tls = NULL;
    struct tls_facts facts;
    struct errctx why;

    (void)ec;
    if (!tls_load_files(d->config, &files))
        return ERR_OK;
    errctx_clear(&why);
    const char *where = *files.store ? "server.ssl.key-store" : "server.ssl.certificate";
    if (tls_server_create(&files, &tls, &why)) {
        doctor_tell(d, DOCTOR_CRITICAL, "https_unusable", where,
                    "Correct it before you restart a node: it would not start.", "%s.", why.text);
        return ERR_OK;
    }
    tls_server_load_facts(tls, &facts);
    tell_times(d, where, &facts);
    tls_server_destroy(tls);
    return ERR_OK;
}

const struct doctor_check doctor_https_checks[] = {
    {"https", "The certificate of server.ssl, if there is one, can be used.",
     (const char *const[]){"https_unusable", "https_expired", "https_expires_soon", NULL}, DOCTOR_NOTHING, check_https},
    {0},
};
