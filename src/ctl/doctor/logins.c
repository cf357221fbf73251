/* SPDX-License-Identifier: MIT */
/* Logins by a provider: what it says when it is asked. */
#include "ctl/doctor/check.h"

#include "shardwheel/admin/outside.h"
#include "shardwheel/oidc.h"
#include "shardwheel/resolver.h"

#define ISSUER "shardwheel.oidc.issuer"

static void tell(void *arg, enum oidc_finding finding, const char *text)
{
    static const struct {
        const char *code, *change;
    } findings[] = {
        [OIDC_FINDING_AWAY] = {"oidc_away",
                               "Check shardwheel.oidc.issuer, and whether this machine can reach the provider."},
        [OIDC_FINDING_CERTIFICATE] = {"oidc_certificate",
                                      "Set shardwheel.oidc.ca to a file with the CA certificate of the provider, and "
                                      "use the host name of its certificate in shardwheel.oidc.issuer."},
        [OIDC_FINDING_ISSUER] = {"oidc_issuer", "Set shardwheel.oidc.issuer to what the provider says."},
        [OIDC_FINDING_ENDPOINTS] = {"oidc_endpoints", "Ask the administrator of the provider."},
        [OIDC_FINDING_KEYS] = {"oidc_keys", "Configure the provider to sign tokens with RS256 or ES256."},
        [OIDC_FINDING_CLIENT] = {"oidc_client",
                                 "Set shardwheel.oidc.client-id and client-secret to those of this client there."},
        [OIDC_FINDING_CLOCK] = {"oidc_clock", "Use NTP on both machines."},
    };
    struct doctor *d = arg;

    doctor_tell(d, DOCTOR_WARNING, findings[finding].code, ISSUER, findings[finding].change,
                "Logins by OpenID Connect do not work: %s.", text);
}

static void ask_provider(struct doctor *d, const struct oidc_opts *opts, struct resolver *resolver)
{
    struct oidc *o = NULL;
    struct errctx why = {{0}};

    if (oidc_create(opts, resolver, d->clock, &o, &why)) {
        doctor_tell(d, DOCTOR_CRITICAL, "oidc_unusable", ISSUER, "Correct it: no node can start with it.",
                    "The settings of OpenID Connect cannot be used: %s.", why.text);
        return;
    }
    oidc_examine(o, tell, d);
    oidc_destroy(o);
}

static enum err check_oidc(struct doctor *d, struct errctx *ec)
{
    struct resolver *resolver = NULL;
    struct oidc_opts opts;
    enum err e;

    if (!oidc_load_opts(d->config, &opts))
        return ERR_OK;
    opts.wait_ms = doctor_left_ms(d);
    e = resolver_create(d->clock, &resolver, ec);
    if (e)
        return e;
    ask_provider(d, &opts, resolver);
    resolver_destroy(resolver);
    return ERR_OK;
}

static enum err check_mapping(struct doctor *d, struct errctx *ec)
{
    struct errctx why = {{0}};

    (void)ec;
    if (outside_check_config(d->config, &why))
        doctor_tell(d, DOCTOR_CRITICAL, "login_mapping_wrong", "shardwheel.login.mapping",
                    "Correct it: no node can start with it.", "It cannot be used: %s.", why.text);
    else if ((d->config->oidc_issuer[0] || !str_is_blank(d->config->ldap_url)) &&
             str_is_blank(d->config->login_mapping))
        doctor_tell(d, DOCTOR_WARNING, "login_mapping_empty", "shardwheel.login.mapping",
                    "Set the role of each group: see docs/users.md.",
                    "It has no rules: all logins by OpenID Connect or LDAP are refused.");
    return ERR_OK;
}

const struct doctor_check doctor_login_checks[] = {
    {"oidc", "OpenID Connect is not used, or its provider works.",
     (const char *const[]){"oidc_unusable", "oidc_away", "oidc_certificate", "oidc_issuer", "oidc_endpoints",
                           "oidc_keys", "oidc_client", "oidc_clock", NULL},
     DOCTOR_NOTHING, check_oidc},
    {"login_mapping", "Groups of the login provider have roles.",
     (const char *const[]){"login_mapping_wrong", "login_mapping_empty", NULL}, DOCTOR_NOTHING, check_mapping},
    {0},
};
