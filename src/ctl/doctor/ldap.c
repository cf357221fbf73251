/* SPDX-License-Identifier: MIT */
/* The directory of shardwheel.ldap, asked as a node with these settings would ask it. */
#include "ctl/doctor/check.h"

#include "shardwheel/directory.h"
#include "shardwheel/resolver.h"

#include <string.h>
#include <strings.h>

/* What is wrong, by the answer; of all others the last one. */
static const struct fault {
    enum directory_answer answer;
    const char *code;
    const char *key; /* where to change it */
    const char *change;
} faults[] = {
    {DIRECTORY_AWAY, "ldap_unreachable", "shardwheel.ldap.url",
     "Check host and port, firewalls, and the server. Local users can still log in."},
    {DIRECTORY_NO_HOST, "ldap_certificate_host", "shardwheel.ldap.url",
     "Use a host name that is in the certificate of the server."},
    {DIRECTORY_NO_TRUST, "ldap_certificate", "shardwheel.ldap.ca-file",
     "Set the file to the CA of the server, or renew the certificate there."},
    {DIRECTORY_NO_TLS, "ldap_tls", "shardwheel.ldap.url",
     "Use ldaps:// with a TLS port, or ldap:// with StartTLS. Check the CA file."},
    {DIRECTORY_NO_BIND, "ldap_bind", "shardwheel.ldap.bind-dn", "Correct the DN or the password of the account."},
    {DIRECTORY_NO_BASE, "ldap_base", "shardwheel.ldap.base-dn",
     "Correct base-dn or group-base-dn, or let the account read there."},
    {DIRECTORY_NOBODY, "ldap_nobody", "shardwheel.ldap.user-filter",
     "Correct the filter, the base DN, or the rights of the account."},
    {DIRECTORY_NO_FILTER, "ldap_filter", "shardwheel.ldap.user-filter", "Correct user-filter or group-filter."},
    {DIRECTORY_STRANGE, "ldap_error", "shardwheel.ldap.url", "See the log of the LDAP server."},
};

static void tell_settings(struct doctor *d)
{
    if (strcasestr(d->config->ldap_url, "ldap://") && !d->config->ldap_starttls)
        doctor_tell(d, DOCTOR_WARNING, "ldap_plain", "shardwheel.ldap.starttls", "Use ldaps://, or StartTLS.",
                    "Passwords are sent to the LDAP server in plain text.");
}

static enum err ask(struct doctor *d, const struct directory_opts *opts, struct resolver *resolver, struct errctx *ec)
{
    struct directory *directory = NULL;
    enum err e = directory_create(opts, resolver, d->clock, &directory, ec);

    if (e == ERR_INPUT) {
        doctor_tell(d, DOCTOR_WARNING, "ldap_setting_wrong", "shardwheel.ldap",
                    "Correct it before you restart a node: it would not start.", "%s.", ec->text);
        return ERR_OK;
    }
    if (e)
        return e;
    enum directory_answer answer = directory_check(directory, ec);
    const struct fault *fault = faults;
    while (fault->answer != answer && fault + 1 < faults + ARRAY_LEN(faults))
        fault++;
    if (answer)
        doctor_tell(d, DOCTOR_WARNING, fault->code, fault->key, fault->change,
                    "Users of the LDAP server cannot log in: %s.", ec->text);
    directory_destroy(directory);
    return ERR_OK;
}

static enum err check_ldap(struct doctor *d, struct errctx *ec)
{
    struct resolver *resolver = NULL;
    struct directory_opts opts;
    enum err e;

    if (!directory_load_opts(d->config, &opts))
        return ERR_OK;
    opts.timeout_ms = opts.timeout_ms < doctor_left_ms(d) ? opts.timeout_ms : doctor_left_ms(d);
    tell_settings(d);
    e = resolver_create(d->clock, &resolver, ec);
    if (!e)
        e = ask(d, &opts, resolver, ec);
    resolver_destroy(resolver);
    return e;
}

const struct doctor_check doctor_ldap_checks[] = {
    {"ldap", "The LDAP server of shardwheel.ldap, if there is one, finds users.",
     (const char *const[]){"ldap_setting_wrong", "ldap_unreachable", "ldap_certificate_host", "ldap_certificate",
                           "ldap_tls", "ldap_bind", "ldap_base", "ldap_nobody", "ldap_filter", "ldap_error",
                           "ldap_plain", NULL},
     DOCTOR_NOTHING, check_ldap},
    {0},
};
