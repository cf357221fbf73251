/* SPDX-License-Identifier: MIT */
/*
 * oidc: proves people by an OpenID Connect provider: authorization code with PKCE. What they may do here is admin's
 * (admin/outside.h), cookies and redirects are http's.
 *
 * Trust       Comes from the issuer that the operator named: its discovery document must say the same issuer, its keys
 *             are fetched from where that says, all by https (plain http on a loopback address alone). A token is good
 *             when it is signed by one of these keys by RS, PS or ES (never HS, never "none"), is of that issuer, for
 *             this client, has the nonce of the login that asked for it, and its times fit by OIDC_SKEW_S.
 * Keys        Are fetched when a token names one that is not known, every ten seconds at most, and every hour: so a new
 *             key counts at once, one that was taken away within the hour.
 * Threads     Any. A call waits for the provider, OIDC_WAIT_MS for each request, of which a login has four at most.
 * State       None here: what a login needs to end (struct oidc_flow) is kept by the browser that began it, so it may
 *             end on another node.
 */
#ifndef SHARDWHEEL_OIDC_H
#define SHARDWHEEL_OIDC_H

#include "shardwheel/base.h"

struct config;
struct oidc;
struct resolver;

#define OIDC_WAIT_MS 8000
#define OIDC_SKEW_S 60 /* by which the clocks may differ */
#define OIDC_GROUPS_MAX 2000
#define OIDC_TEXT_MAX 1000                  /* bytes of URLs and names */
#define OIDC_CALLBACK "/auth/oidc/callback" /* with it a redirect URI ends */

struct oidc_opts {
    const char *issuer, *client_id;
    const char *client_secret; /* "": a public client, which has PKCE alone */
    const char *scopes;        /* between blanks; openid is added where it is not there */
    const char *name_claims;   /* between commas: the first that is there is the name */
    const char *groups_claims; /* between commas: all of them count; a '.' goes into objects */
    const char *redirect_uri;  /* of this console; "": made of the host that the browser names */
    const char *ca;            /* PEM file; "": the system's */
    int64_t wait_ms;           /* for an answer; 0: OIDC_WAIT_MS */
};

/* What the settings say; their texts are borrowed. False: there are no such logins. */
bool oidc_load_opts(const struct config *config, struct oidc_opts *out);
/* Asks nobody. ERR_INPUT names the setting that cannot be used: issuer, client id or redirect URI. The resolver and all
 * texts outlive it. */
MUST_CHECK enum err oidc_create(const struct oidc_opts *opts, struct resolver *resolver, const struct clock *clock,
                                struct oidc **out, struct errctx *ec);
void oidc_stop(struct oidc *o);                          /* calls end within about a second; may be called twice */
void oidc_destroy(struct oidc *o);                       /* NULL is fine */
const char *oidc_get_redirect_uri(const struct oidc *o); /* "" or one that ends with OIDC_CALLBACK; as long as it */

/* ---- a login ----------------------------------------------------------------------------------------------------- */

#define OIDC_SECRET_LEN 32
struct oidc_flow {
    char state[OIDC_SECRET_LEN + 1];
    char nonce[OIDC_SECRET_LEN + 1];
    char verifier[2 * OIDC_SECRET_LEN + 1]; /* of PKCE */
};

/* Why a login did not work: a word for each, which http puts into the address of the login page. */
enum oidc_fault {
    OIDC_FINE,
    OIDC_AWAY,        /* the provider does not answer, or what it says cannot be used */
    OIDC_CERTIFICATE, /* its certificate is not one that `ca` vouches for, or of another host */
    OIDC_DENIED,      /* it says no: the person did not want to, or may not */
    OIDC_CODE,        /* it does not take the code: used before, or too old */
    OIDC_CLIENT,      /* it does not take our client id or secret */
    OIDC_TOKEN,       /* its token is not good: log has why */
    OIDC_NAME,        /* it tells no name */
};

/* New secrets for `flow`, and the address to which the browser goes. ERR_LOST: OIDC_AWAY; ERR_DENIED:
 * OIDC_CERTIFICATE. */
MUST_CHECK enum err oidc_begin(struct oidc *o, const char *redirect_uri, struct oidc_flow *flow, struct buf *url,
                               struct errctx *ec);

struct oidc_person {
    char *subject; /* issuer and subject: nobody else ever has it */
    char *name;
    char **groups;
    size_t group_count;
};
void oidc_person_fini(struct oidc_person *person);

/* What the browser came back with. That its state is the flow's is for the caller to check, before. */
struct oidc_answer {
    const char *code;  /* NULL: none */
    const char *iss;   /* NULL: none */
    const char *error; /* NULL: none */
};
MUST_CHECK enum err oidc_finish(struct oidc *o, const char *redirect_uri, const struct oidc_flow *flow,
                                const struct oidc_answer *answer, struct oidc_person *out, enum oidc_fault *fault,
                                struct errctx *ec);

/* Where the browser goes to log out there as well, and comes back from to `back`. ERR_NOTFOUND: the provider has no
 * such page. */
MUST_CHECK enum err oidc_get_logout(struct oidc *o, const char *back, struct buf *url, struct errctx *ec);

/* ---- for doctor -------------------------------------------------------------------------------------------------- */

enum oidc_finding {
    OIDC_FINDING_AWAY,        /* no answer, or no discovery document */
    OIDC_FINDING_CERTIFICATE, /* as OIDC_CERTIFICATE */
    OIDC_FINDING_ISSUER,      /* it names another issuer */
    OIDC_FINDING_ENDPOINTS,   /* a page that is needed is missing, or is not https */
    OIDC_FINDING_KEYS,        /* no key that could sign a token */
    OIDC_FINDING_CLIENT,      /* it does not take client id and secret */
    OIDC_FINDING_CLOCK,       /* its clock and ours differ by more than OIDC_SKEW_S */
};
/* Asks the provider, three times at most. `tell` is called with each finding and a sentence. */
void oidc_examine(struct oidc *o, void (*tell)(void *arg, enum oidc_finding finding, const char *text), void *arg);

#endif
