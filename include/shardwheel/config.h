/* SPDX-License-Identifier: MIT */
/*
 * config: what the operator set, from properties files, environment and command line; and JDBC URLs.
 *
 * Threads     A loaded config never changes, so any thread may read it. Reload makes a new one; who swaps them
 * must see to it that nobody still reads the old one when it is destroyed. Ownership   config_load and
 * config_reload create, config_destroy frees all, the strings too. Sources     Later wins: built-in default,
 * properties files in the order of the search, files of one key each (see src/config/tree.h), environment, command
 * line. Table       src/config/keys.h holds one
 * row per key; parser, help, sample file and docs/configuration.md follow from it.
 */
#ifndef SHARDWHEEL_CONFIG_H
#define SHARDWHEEL_CONFIG_H

#include "shardwheel/base.h"
#include "shardwheel/job/kept.h"

/* ---- JDBC URLs --------------------------------------------------------------------------------------------- */

struct jdbc_host {
    char *host;   /* name or address; IPv6 without its brackets */
    int64_t port; /* 1..65535 */
};

enum jdbc_tls {
    JDBC_TLS_DISABLED,
    JDBC_TLS_PREFERRED, /* TLS where the server offers it, certificate not checked: the drivers' default */
    JDBC_TLS_REQUIRED,  /* TLS or no connection, certificate not checked */
    JDBC_TLS_VERIFY_CA,
    JDBC_TLS_VERIFY_IDENTITY,
};

struct jdbc_url {
    struct jdbc_host *hosts; /* the first is the one to use, the others are for failover, in their order */
    size_t host_count;       /* at least 1 */
    char *socket;            /* path of a unix socket, which goes before the hosts; NULL: none */
    char *database;          /* never empty */
    char *user;              /* from the URL; NULL: not given there */
    char *password;          /* from the URL; NULL: not given there. Never log it */
    char *time_zone; /* of DATETIME columns: a zone's name, or "SERVER"; NULL: absent or LOCAL, the process zone */
    enum jdbc_tls tls;
    char *tls_ca;               /* PEM file; NULL: the system's */
    int64_t connect_timeout_ms; /* 0: not given */
    int64_t socket_timeout_ms;  /* 0: not given */
    char **unknown;             /* names of parameters that nobody here knows; they are ignored */
    size_t unknown_count;
};

/* ERR_INPUT says which part is wrong and what was expected; passwords never show in it. */
MUST_CHECK enum err jdbc_url_parse(const char *text, struct jdbc_url **out, struct errctx *ec);
void jdbc_url_destroy(struct jdbc_url *url); /* NULL is fine */

/* ---- the config -------------------------------------------------------------------------------------------- */

enum config_command {
    CONFIG_RUN,            /* be a node; standalone or not is told by `coordination` */
    CONFIG_INSTALL_SCHEMA, /* put what is missing into the database, then end */
    CONFIG_CTL,            /* a command of shardwheelctl: see config_ctl */
    CONFIG_HELP,           /* the three below: print and end; nothing was read, all values are defaults */
    CONFIG_HELP_CONFIG,
    CONFIG_VERSION,
};

/* What `shardwheelctl` (or `shardwheel ctl`) is asked to do. Texts are those of the command line. */
enum ctl_verb {
    CTL_NONE,
    CTL_SHARDS,
    CTL_NODES,
    CTL_DRAIN,
    CTL_UNDRAIN,
    CTL_RELEASE,
    CTL_RESHARD,
    CTL_SET_ZONE,
    CTL_JOB,
    CTL_SET_JOB,
    CTL_KILL,
    CTL_LOG,
    CTL_ALARM_TEST,
    CTL_TRIGGER,
    CTL_LATER,
    CTL_CANCEL_LATER,
    CTL_GOING_BACK,
    CTL_WHY,
    CTL_AFTER_RESTORE,
    CTL_DOCTOR,
    CTL_FLOW_LIST,
    CTL_FLOW_SHOW,
    CTL_FLOW_APPLY,
    CTL_FLOW_DIFF,
    CTL_FLOW_FROM_CHILDREN,
    CTL_FLOW_START,
    CTL_FLOW_STOP,
    CTL_FLOW_RUN,
    CTL_FLOW_RUNS,
    CTL_FLOW_RUN_SHOW,
    CTL_FLOW_CANCEL,
    CTL_FLOW_RERUN,
    CTL_FLOW_STEP,
    CTL_SET_PASSWORD,
    CTL_RESET_FACTOR,
    CTL_JOBS, /* from here on over api/v1, without a database */
    CTL_RUNS,
    CTL_START,
    CTL_STOP,
    CTL_EXPORT,
    CTL_APPLY,
    CTL_ALARM_RULES,
    CTL_SET_ALARM_RULE,
    CTL_DELETE_ALARM_RULE,
};
#define CTL_SETTINGS_MAX 32
#define CTL_WORDS_MAX 3
struct config_ctl {
    enum ctl_verb verb; /* never CTL_NONE in a loaded config with CONFIG_CTL */
    const char *node;   /* of drain and undrain; else NULL */
    int64_t number;     /* of release: the shard; of reshard: shards, 1..1024, or 0 to cancel */
    int64_t log_id;     /* of kill and log; of cancel-later the later row; of flow run-show, cancel and rerun the run;
                         * of delete-alarm-rule the rule */
    bool follow;        /* of log and runs */
    bool verbose;       /* of doctor */
    bool ask_executors; /* of doctor */
    const char *zone;   /* of set-zone; else NULL */
    const char *group;  /* of alarm-test, jobs, runs, export and set-alarm-rule: an app name; NULL: all */
    bool is_cron_zone;  /* ... of cron expressions; else of DATETIME columns */
    int64_t job;        /* of job, set-job, trigger, why and flow from-children; else 0 */
    struct ctl_setting {
        const char *name; /* as on the line, without dashes; whether there is such a setting is not known here */
        const char *value;
    } settings[CTL_SETTINGS_MAX]; /* of commands that take some, in their order */
    size_t setting_count;
    const char *words[CTL_WORDS_MAX]; /* of runs, start, stop, set-alarm-rule and the other flow commands */
    size_t word_count;
    bool json;
    bool force;
    bool dry_run;    /* of after-restore, apply and flow apply */
    bool apply;      /* of flow from-children */
    int64_t wait_ms; /* how long to wait for the outcome */
};

enum config_coordination {
    CONFIG_COORDINATION_AUTO, /* as given only; a loaded config holds one of the other two */
    CONFIG_COORDINATION_ZOOKEEPER,
    CONFIG_COORDINATION_STANDALONE,
};

/* What becomes of GLUE jobs. */
enum config_glue { CONFIG_GLUE_ON, CONFIG_GLUE_OFF, CONFIG_GLUE_BEAN_ONLY };
const char *config_glue_name(enum config_glue glue); /* "on", "off", "bean-only" */

/* Whether this server speaks TLS. */
enum config_enabled { CONFIG_ENABLED_OFF, CONFIG_ENABLED_ON, CONFIG_ENABLED_AUTO };

/* Whether clients of this server must show a certificate. */
enum config_client_auth { CONFIG_CLIENT_AUTH_NONE, CONFIG_CLIENT_AUTH_WANT, CONFIG_CLIENT_AUTH_NEED };

/* Of the original's consoles. */
enum config_dialect {
    CONFIG_DIALECT_AUTO,
    CONFIG_DIALECT_A,
    CONFIG_DIALECT_B,
    CONFIG_DIALECT_C,
    CONFIG_DIALECT_D,
};

enum config_format { CONFIG_FORMAT_TEXT, CONFIG_FORMAT_PROPERTIES, CONFIG_FORMAT_MARKDOWN };

/* Strings are never NULL unless it says so; one that was not given is empty. */
struct config {
    /* From the shape of the command line, without a key. */
    enum config_command command;
    enum config_format help_format; /* of CONFIG_HELP_CONFIG */
    struct config_ctl ctl;          /* of CONFIG_CTL, and of CONFIG_HELP when that was asked of shardwheelctl */
    bool is_ctl;                    /* the command line is one of shardwheelctl */
    char *data_dir;                 /* of `standalone --data DIR`: bring an own database; NULL: not asked for */

    /* The database. */
    char *datasource_url;
    struct jdbc_url *datasource; /* datasource_url taken apart; NULL with data_dir */
    char *datasource_username;   /* that of the URL if the key is not set */
    char *datasource_password;   /* as above. Secret */
    char *datasource_driver;     /* checked, otherwise without use */
    int64_t datasource_max_sessions;
    int64_t datasource_connection_timeout_ms;
    bool schema_auto;

    /* Taking over from the original. */
    char *access_token;          /* secret, reloadable; empty: none asked for */
    int64_t executor_timeout_ms; /* reloadable; 1000..10000 */
    char *login_cookie;          /* its name */
    char *i18n;                  /* zh_CN, zh_TC, en, or anything else: zh_CN */
    int64_t log_retention_days;  /* of log rows; below 3: nothing is cleaned */

    /* https executors; all reloadable. */
    bool tls_verify;
    char *tls_ca; /* files; empty: none */
    char *tls_cert;
    char *tls_key;

    char *executor_networks; /* checked: networks_parse takes it */

    /* Alarm mails. */
    char *mail_host; /* empty: no mails */
    int64_t mail_port;
    char *mail_username; /* empty: no login */
    char *mail_password; /* secret */
    char *mail_from;     /* empty: mail_username */
    char *mail_protocol; /* "smtp" or "smtps"; the caller checks it */
    bool mail_auth;
    bool mail_starttls;
    bool mail_starttls_required;
    bool mail_ssl;
    char *mail_ssl_trust;      /* "*": no certificate is checked */
    char *mail_socket_factory; /* not empty, at port 465: as mail_ssl */

    /* Alarms. */
    char *alarm_channels; /* secret; the caller checks it, as title and text */
    int64_t alarm_every_ms;
    bool alarm_recovery;
    bool alarm_offline;
    char *alarm_title; /* empty: built in */
    char *alarm_text;
    char *alarm_link;
    char *alarm_ca; /* empty: the system's */
    bool alarm_console_channels;

    /* Coordination and scheduling. */
    enum config_coordination coordination;
    char *zookeeper_servers; /* host:port,..., every port there; may end in a chroot path */
    int64_t zookeeper_session_timeout_ms;
    char *zookeeper_base_path; /* begins with '/', does not end with it, is not "/" */
    int64_t shards;
    int64_t lock_max_hold_ms; /* 0: no limit */
    bool java_guard;          /* hold Java admins off */
    bool delivery_unknown_resend;
    bool skipped_rows;  /* due times without a fire get a row of the log */
    bool lost_runs_ask; /* executors are asked whether jobs are idle */
    char *node_name;    /* empty: the caller makes one */
    char *time_zone;    /* of schedules; empty: the zone of the process. The caller checks the name */

    /* Sending fires. */
    bool trigger_msg_long;

    /* Serving. */
    int64_t server_port;       /* 0: any free one */
    char *server_context_path; /* "" for the root, else begins with '/' and does not end with it */
    char *http_bind;           /* IP address, IPv6 without brackets; empty: all addresses */
    int64_t http_threads;
    enum config_dialect console_dialect;
    char *console_web_dir;
    char *login_proxy_header;   /* "": none */
    char *login_proxy_networks; /* checked, as the next */
    enum config_glue glue;
    char *http_trusted_networks; /* checked: networks_parse takes it */

    /* TLS of this server. */
    bool serves_tls; /* what follows from the keys below */
    enum config_enabled ssl_enabled;
    char *ssl_certificate; /* files; empty: none */
    char *ssl_private_key;
    char *ssl_private_key_password; /* secret, as all passwords below */
    char *ssl_key_store;
    char *ssl_key_store_password;
    char *ssl_key_store_type;
    char *ssl_key_password;
    char *ssl_key_alias;
    enum config_client_auth ssl_client_auth;
    char *ssl_trust_certificate;
    char *ssl_trust_store;
    char *ssl_trust_store_password;
    char *ssl_trust_store_type;
    int64_t hsts_ms; /* 0: none */

    /* Who may log in; all reloadable. */
    char *login_local;   /* all, none, names between commas */
    char *login_mapping; /* the caller checks it */
    int64_t login_outside_session_ms;
    int64_t login_outside_tokens_ms;

    /* OpenID Connect. */
    char *oidc_issuer; /* empty: not used */
    char *oidc_client_id;
    char *oidc_client_secret; /* secret */
    char *oidc_scopes;
    char *oidc_name_claims;
    char *oidc_groups_claims;
    char *oidc_title;
    char *oidc_redirect_uri;
    char *oidc_ca;

    /* See directory.h. */
    char *ldap_url; /* "": none is asked */
    bool ldap_starttls;
    char *ldap_ca_file;
    char *ldap_bind_dn;
    char *ldap_bind_password;
    char *ldap_base_dn;
    char *ldap_user_filter;
    char *ldap_name_attribute;
    char *ldap_group_base_dn;
    char *ldap_group_filter;
    char *ldap_group_attribute;
    int64_t ldap_timeout_ms;

    bool security_strict;
    bool strong_passwords;
    char *second_factor; /* checked: "none", "all", or roles between commas */
    bool core_dumps;

    enum kept_which kept_logs; /* of jobs that do not say it */
    int64_t kept_logs_size;    /* bytes of one */
    int64_t kept_logs_total;   /* ... of all */
    int64_t kept_logs_days;

    enum log_level log_level;   /* reloadable */
    char *log_levels;           /* of areas, AREA=LEVEL,...; reloadable */
    enum log_format log_format; /* reloadable */
    int64_t audit_retention_days;

    /* shardwheelctl over api/v1. */
    char *ctl_url;   /* empty: that of a node on this machine */
    char *ctl_token; /* secret */
    char *ctl_ca;    /* file; empty: the system's */

    struct config_origin *origin; /* private: where each value came from, and the notes */
};

/* Reads the command line, then what it and the environment name. `envp` and `argv` end with NULL (argv[0] is
 * skipped). Of argv config_ctl keeps texts, in which a '=' may become their end; all else is copied. ERR_INPUT names
 * file and line (or argument or variable), key, what was given and what was expected. */
MUST_CHECK enum err config_load(int argc, char **argv, char **envp, struct config **out, struct errctx *ec);
/* Reads all of it again. *out is the new whole, in which keys that cannot be reloaded keep the value of `current`
 * (a note says so for each that differs). On error nothing is made and `current` stays in force. `current` is
 * only read. */
MUST_CHECK enum err config_reload(const struct config *current, int argc, char **argv, char **envp, struct config **out,
                                  struct errctx *ec);
/* True for a command line of shardwheelctl, well formed or not: by the program's name, or the first argument `ctl`. */
bool config_is_ctl(int argc, char **argv);
void config_destroy(struct config *config); /* NULL is fine */

/* Where the value of a key came from, as file:line, "environment NAME", "command line" or "default"; to begin an
 * error about the value with, when only another area can check it. NULL when there is no such key. */
const char *config_get_source(const struct config *config, const char *key);

/* Every key with its value in force, in the order of the table. Secrets are hidden. For the log at start. */
void config_list(const struct config *config,
                 void (*each)(void *arg, const char *key, const char *value, const char *source), void *arg);

/* What a key is for, as --help-config says it; the texts are constants. False when there is no such key. */
struct config_about {
    const char *section; /* "Alarms" */
    const char *help;
    const char *default_text; /* as it would stand in a file */
    bool reloadable;          /* counts after a reload, without a restart */
};
bool config_describe(const char *key, struct config_about *out);

/* With standalone --data: where an access token that was made for a new folder is kept (0600), and found again where
 * none is configured. */
#define CONFIG_TOKEN_FILE "access-token"
/* A token that was made after the config was loaded, before anybody else reads it. */
MUST_CHECK enum err config_take_token(struct config *config, const char *token, const char *source, struct errctx *ec);

/* What the operator may want to know and no error is: to be logged once, one line for each. */
enum config_note_kind {
    CONFIG_NOTE_IGNORED,    /* info: a key of the original, or a JDBC parameter, without meaning here */
    CONFIG_NOTE_WARNING,    /* warn: a value was replaced or something given is not used; the text says what holds
                            instead */
    CONFIG_NOTE_UNREADABLE, /* warn: a place of secrets that this user may not read was passed over */
    CONFIG_NOTE_RESTART,    /* warn, after a reload: a change that needs a restart */
};
struct config_note {
    enum config_note_kind kind;
    char *text;
};
const struct config_note *config_get_notes(const struct config *config, size_t *count);

/* All append to `out`; test buf_failed at the end. */
void config_write_usage(struct buf *out);                           /* a few lines for --help */
void config_write_ctl_usage(struct buf *out);                       /* the same for shardwheelctl */
void config_write_help(enum config_format format, struct buf *out); /* every key: --help-config */

#endif
