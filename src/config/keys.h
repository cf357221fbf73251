/* SPDX-License-Identifier: MIT */
/*
 * keys: the one table of configuration keys, and what a kind of value is. Private to config.
 *
 * A new key is a field of struct config and a row here. The row's kind must fit the field's type, which keys.c
 * has the compiler check. Everything else follows: parser, bounds, relaxed names, --help-config,
 * conf/shardwheel.properties, docs/configuration.md (tests compare both files with the table).
 */
#ifndef CONFIG_KEYS_H
#define CONFIG_KEYS_H

#include "config/quote.h"
#include "shardwheel/config.h"
#include "shardwheel/job/times.h"

enum {
    KEY_RELOADABLE = 1,
    KEY_SECRET = 2,  /* never shown: not in errors, notes, lists */
    KEY_LENIENT = 4, /* a number out of bounds counts as the default, with a warning, as the original has it */
    KEY_LINES = 8,   /* the value may have several lines */
};

#define KIBI 1024LL
#define MEBI (1024LL * KIBI)
#define SECOND_MS 1000LL
#define MINUTE_MS (60LL * SECOND_MS)
#define HOUR_MS (60LL * MINUTE_MS)

/*
 * X(section, key, field, kind, unit, default, min, max, flags, help)
 *
 * unit     what a plain number counts: "ms" or "s" for a DURATION, "bytes" for a SIZE, a word or "" for an INT
 * min, max in ms for a DURATION, bytes for a SIZE, the number for an INT, characters for text
 * default  as it would stand in a file
 */
#define CONFIG_KEYS(X)                                                                                                 \
    X(SERVER, "server.port", server_port, INT, "", "8080", 0, 65535, 0,                                                \
      "TCP port of the executor API, the metrics and the console. 0 takes any free one.")                              \
    X(SERVER, "server.servlet.context-path", server_context_path, PATH, "", "", 0, 200, 0,                             \
      "Prefix of every URL. The executor API answers under / and /xxl-job-admin whatever stands here.")                \
    X(SERVER, "shardwheel.http.bind", http_bind, ADDRESS, "", "", 0, 64, 0,                                            \
      "IP address to listen on. Empty: all addresses.")                                                                \
    X(SERVER, "shardwheel.http.threads", http_threads, INT, "threads", "64", 4, 512, 0,                                \
      "Threads that answer HTTP requests; a quarter is the console's. Connections that are idle or slow hold none.")   \
    X(SERVER, "shardwheel.http.max-body", http_max_body, SIZE, "bytes", "64m", 1 * MEBI, 1024 * MEBI, 0,               \
      "Longest request body that is read. Batches of callbacks reach 12 MB.")                                          \
    X(SERVER, "shardwheel.http.trusted-networks", http_trusted_networks, NETWORKS, "", "", 0, 4000, 0,                 \
      "Networks of reverse proxies, such as 10.0.0.0/8,fd00::/8. X-Forwarded-For, -Proto and -Host count from these "  \
      "alone. Empty: from nobody.")                                                                                    \
    X(SERVER, "shardwheel.console.dialect", console_dialect, DIALECT, "", "auto", 0, 4, 0,                             \
      "Which of the original's consoles calls are answered as that could be meant for several: A is 2.3 to 3.1, "      \
      "B 3.2, C 3.3 and 3.4, D 3.5. auto: the one of the database's schema.")                                          \
    X(SERVER, "shardwheel.console.web-dir", console_web_dir, TEXT, "", "", 0, 1000, 0,                                 \
      "Folder of the built console, as tools/web build makes it. Empty: share/shardwheel/web where the program is "    \
      "installed, build/web in the source tree.")                                                                      \
    X(SERVER, "shardwheel.login.proxy-header", login_proxy_header, TEXT, "", "", 0, 100, 0,                            \
      "Header in which a reverse proxy with a login of its own names the user, such as X-Forwarded-User. Users must "  \
      "be in xxl_job_user. Empty: none does.")                                                                         \
    X(SERVER, "shardwheel.login.proxy-networks", login_proxy_networks, NETWORKS, "", "", 0, 4000, 0,                   \
      "Networks of those proxies. Whoever calls from there is whom the header names. From elsewhere it does not "      \
      "count.")                                                                                                        \
    X(SERVER, "shardwheel.glue", glue, GLUE, "", "on", 0, 2, 0,                                                        \
      "Jobs whose source is kept in the database and sent to executors. off: no source is saved and no such job "      \
      "made; those that are there run on. bean-only: nor are they sent any more, their fires fail with a reason.")     \
    X(DATABASE, "spring.datasource.url", datasource_url, JDBC, "", "", 0, 4000, 0,                                     \
      "JDBC URL of the xxl-job database. Required, unless the command line says standalone --data DIR. "               \
      "serverTimezone must be what the Java admins use: it tells what DATETIME columns mean.")                         \
    X(DATABASE, "spring.datasource.username", datasource_username, TEXT, "", "", 0, 200, 0,                            \
      "Database user. Empty: the one in the URL.")                                                                     \
    X(DATABASE, "spring.datasource.password", datasource_password, TEXT, "", "", 0, 1000, KEY_SECRET,                  \
      "Password of that user.")                                                                                        \
    X(DATABASE, "spring.datasource.driver-class-name", datasource_driver, DRIVER, "", "", 0, 200, 0,                   \
      "Only checked: a driver of another database than MySQL or MariaDB is refused.")                                  \
    X(DATABASE, "spring.datasource.hikari.maximum-pool-size", datasource_max_sessions, INT, "sessions", "30", 1, 1000, \
      0, "Most database sessions open at once.")                                                                       \
    X(DATABASE, "spring.datasource.hikari.connection-timeout", datasource_connection_timeout_ms, DURATION, "ms",       \
      "10000", 250, 10 * MINUTE_MS, 0, "Longest wait for a database session.")                                         \
    X(DATABASE, "shardwheel.schema.auto", schema_auto, SWITCH, "", "on", 0, 1, 0,                                      \
      "Add what is missing to the database at start. off: refuse to start instead; see install-schema.")               \
    X(ORIGINAL, "xxl.job.accessToken", access_token, TEXT, "", "", 0, 500, KEY_RELOADABLE | KEY_SECRET,                \
      "Shared secret of executors and admin, the same on both sides. Empty: none is asked for.")                       \
    X(ORIGINAL, "xxl.job.timeout", executor_timeout_ms, DURATION, "s", "3", 1 * SECOND_MS, ANSWER_MAX_MS,              \
      KEY_RELOADABLE | KEY_LENIENT, "Longest wait for an executor's answer.")                                          \
    X(ORIGINAL, "xxl.job.logretentiondays", log_retention_days, INT, "days", "30", -1, 100000, 0,                      \
      "Days that log rows are kept; below 3 they are kept for ever. A job may have days of its own.")                  \
    X(TLS, "shardwheel.executor.tls.verify", tls_verify, SWITCH, "", "on", 0, 1, KEY_RELOADABLE,                       \
      "Certificates of https executors must be valid, and for the host or IP of the address. off: any is taken, as "   \
      "by the original.")                                                                                              \
    X(TLS, "shardwheel.executor.tls.ca", tls_ca, TEXT, "", "", 0, 1000, KEY_RELOADABLE,                                \
      "PEM file of the authorities that vouch for executors. Empty: those of the system.")                             \
    X(TLS, "shardwheel.executor.tls.cert", tls_cert, TEXT, "", "", 0, 1000, KEY_RELOADABLE,                            \
      "PEM file with the certificate that is shown to executors that ask for one. Empty: none.")                       \
    X(TLS, "shardwheel.executor.tls.key", tls_key, TEXT, "", "", 0, 1000, KEY_RELOADABLE,                              \
      "PEM file with its private key, without a password. Empty: it is in the same file.")                             \
    X(TLS, "shardwheel.executor.networks", executor_networks, NETWORKS, "", "", 0, 4000, 0,                            \
      "Networks whose executors are called, ! before those that are not: 10.0.0.0/8,!10.1.0.0/16. The longest prefix " \
      "decides. Empty: all but link-local, metadata and multicast addresses; see security.md.")                        \
    X(ORIGINAL, "xxl.job.i18n", i18n, TEXT, "", "zh_CN", 0, 20, 0,                                                     \
      "Language of what is written into log rows: zh_CN, zh_TC or en; anything else counts as zh_CN.")                 \
    X(ORIGINAL, "xxl-sso.token.key", login_cookie, TEXT, "", "xxl_job_login_token", 1, 100, 0,                         \
      "Name of the cookie that holds a login of the console.")                                                         \
    X(MAIL, "spring.mail.host", mail_host, TEXT, "", "", 0, 255, 0,                                                    \
      "Mail server for the alarms of failed jobs. Empty: none is sent, and alarms count as failed.")                   \
    X(MAIL, "spring.mail.port", mail_port, INT, "", "25", 1, 65535, 0,                                                 \
      "Its port. 465 is usual with TLS from the start.")                                                               \
    X(MAIL, "spring.mail.protocol", mail_protocol, TEXT, "", "smtp", 4, 5, 0,                                          \
      "smtp, or smtps for TLS from the start.")                                                                        \
    X(MAIL, "spring.mail.username", mail_username, TEXT, "", "", 0, 255, 0,                                            \
      "User at the mail server. Empty: no login.")                                                                     \
    X(MAIL, "spring.mail.password", mail_password, TEXT, "", "", 0, 1000, KEY_SECRET, "Password of that user.")        \
    X(MAIL, "spring.mail.from", mail_from, TEXT, "", "", 0, 255, 0,                                                    \
      "Sender of the mails, a plain address. Empty: spring.mail.username.")                                            \
    X(MAIL, "spring.mail.properties.mail.smtp.auth", mail_auth, SWITCH, "", "on", 0, 1, 0,                             \
      "off: no login, whatever user is given.")                                                                        \
    X(MAIL, "spring.mail.properties.mail.smtp.starttls.enable", mail_starttls, SWITCH, "", "off", 0, 1, 0,             \
      "TLS where the mail server offers STARTTLS.")                                                                    \
    X(MAIL, "spring.mail.properties.mail.smtp.starttls.required", mail_starttls_required, SWITCH, "", "off", 0, 1, 0,  \
      "TLS by STARTTLS, or no mail.")                                                                                  \
    X(MAIL, "spring.mail.properties.mail.smtp.ssl.enable", mail_ssl, SWITCH, "", "off", 0, 1, 0,                       \
      "TLS from the start.")                                                                                           \
    X(MAIL, "spring.mail.properties.mail.smtp.ssl.trust", mail_ssl_trust, TEXT, "", "", 0, 500, 0,                     \
      "* takes any certificate of the mail server; else it must be valid.")                                            \
    X(MAIL, "spring.mail.properties.mail.smtp.socketFactory.class", mail_socket_factory, TEXT, "", "", 0, 255, 0,      \
      "Any class name together with port 465: TLS from the start. Without use at other ports.")                        \
    X(ALARM, "shardwheel.alarm.channels", alarm_channels, TEXT, "", "", 0, 20000, KEY_SECRET | KEY_LINES,              \
      "Where alarms go besides the mail addresses of jobs: KIND=TARGET, with secret=, groups= and name= behind it, "   \
      "parted by blanks. See alarms.md.")                                                                              \
    X(ALARM, "shardwheel.alarm.every", alarm_every_ms, DURATION, "ms", "10m", 0, 24 * HOUR_MS, 0,                      \
      "One message about a job in this time: its first failure is told at once, those that follow together.")          \
    X(ALARM, "shardwheel.alarm.recovery", alarm_recovery, SWITCH, "", "on", 0, 1, 0,                                   \
      "Tell when a job of whose failure people were told succeeds again.")                                             \
    X(ALARM, "shardwheel.alarm.offline", alarm_offline, SWITCH, "", "on", 0, 1, 0,                                     \
      "Tell the channels of executors that are gone without a word, and of groups without any executor.")              \
    X(ALARM, "shardwheel.alarm.title", alarm_title, TEXT, "", "", 0, 1000, 0,                                          \
      "Title of alarms, and subject of mails, with placeholders such as {job}: see alarms.md. Empty: the built-in "    \
      "one.")                                                                                                          \
    X(ALARM, "shardwheel.alarm.text", alarm_text, TEXT, "", "", 0, 8000, KEY_LINES,                                    \
      "Text of alarms of failed jobs, likewise; \\n ends a line.")                                                     \
    X(ALARM, "shardwheel.alarm.link", alarm_link, TEXT, "", "", 0, 1000, 0,                                            \
      "URL of the console, for links in alarms.")                                                                      \
    X(ALARM, "shardwheel.alarm.ca", alarm_ca, TEXT, "", "", 0, 1000, 0,                                                \
      "PEM file of the authorities that certificates of webhooks are checked against. Empty: the system's.")           \
    X(ALARM, "shardwheel.alarm.console-channels", alarm_console_channels, SWITCH, "", "on", 0, 1, 0,                   \
      "Webhooks that administrators set in the console count beside shardwheel.alarm.channels. off: they are not "     \
      "used, and none can be set.")                                                                                    \
    X(COORDINATION, "shardwheel.coordination", coordination, COORDINATION, "", "auto", 0, 2, 0,                        \
      "Who says which node owns a shard. standalone is for one node alone. auto: zookeeper if its servers are given, " \
      "else standalone.")                                                                                              \
    X(COORDINATION, "shardwheel.zookeeper.servers", zookeeper_servers, SERVERS, "", "", 0, 2000, 0,                    \
      "ZooKeeper servers as host:port,host:port; a path may follow the last one.")                                     \
    X(COORDINATION, "shardwheel.zookeeper.session-timeout", zookeeper_session_timeout_ms, DURATION, "ms", "4s",        \
      1 * SECOND_MS, 60 * SECOND_MS, 0,                                                                                \
      "After this long without a sign of life a node's shards go to others. Fires are planned 5 s ahead; a longer "    \
      "timeout lets fires of a node that died come late.")                                                             \
    X(COORDINATION, "shardwheel.zookeeper.base-path", zookeeper_base_path, PATH, "", "/xxl-job", 2, 200, 0,            \
      "Where locks and members stand in ZooKeeper; the same on all nodes.")                                            \
    X(COORDINATION, "shardwheel.shards", shards, INT, "shards", "8", 1, 1024, 0,                                       \
      "Shards of the cluster, when the first node starts. Afterwards the number in the database holds: "               \
      "shardwheelctl reshard changes it while nodes run.")                                                             \
    X(COORDINATION, "shardwheel.lock.max-hold", lock_max_hold_ms, DURATION, "ms", "10m", 0, 30 * 24 * HOUR_MS, 0,      \
      "A shard is handed over after so long, so that ownership also moves with no failure. 0: never.")                 \
    X(COORDINATION, "shardwheel.java-guard", java_guard, AUTO_OFF, "", "auto", 0, 1, 0,                                \
      "Hold Java admins on the same database off while a shardwheel node lives, and plan only then. off: for a "       \
      "database on which no Java admin will ever run.")                                                                \
    X(COORDINATION, "shardwheel.node.name", node_name, NAME, "", "", 0, 100, 0,                                        \
      "Name of this node in logs, database and ZooKeeper. Empty: host name, port and a random part.")                  \
    X(SCHEDULE, "shardwheel.time-zone", time_zone, TEXT, "", "", 0, 100, 0,                                            \
      "Time zone of cron expressions, such as Asia/Shanghai. Empty: the zone of the process (TZ, /etc/localtime).")    \
    X(SCHEDULE, "shardwheel.delivery-unknown.resend", delivery_unknown_resend, SWITCH, "", "off", 0, 1, 0,             \
      "What becomes of a fire that was in flight when its node died. off: it ends as failed, delivery unknown, and "   \
      "the job's retries and alarms apply. on: it is sent again with the same log id, so that an executor may run it " \
      "twice. The same on all nodes.")                                                                                 \
    X(SCHEDULE, "shardwheel.skipped-rows", skipped_rows, SWITCH, "", "on", 0, 1, 0,                                    \
      "Due times that end without a fire (misfire strategy, next time set into the past) get a row in xxl_job_log: "   \
      "one for each job and outage, with their number. It is no failure: nobody retries it, or sends an alarm.")       \
    X(SCHEDULE, "shardwheel.lost-runs.ask", lost_runs_ask, SWITCH, "", "on", 0, 1, 0,                                  \
      "Executors are asked once a minute, by idleBeat, about runs that are older; one that says twice that the job "   \
      "is "                                                                                                            \
      "idle has lost its run, which ends as failed. off: for executors that answer so while a job runs.")              \
    X(SCHEDULE, "shardwheel.dispatch.threads", dispatch_threads, INT, "threads", "2", 1, 16, 0,                        \
      "Event loops that send fires to executors.")                                                                     \
    X(SCHEDULE, "shardwheel.dispatch.per-address", dispatch_per_address, INT, "requests", "64", 1, 64, 0,              \
      "Most requests under way to one executor address at once. So many only while its answers stay quick and no "     \
      "other address is busy: a slow one gets 4, and busy ones share 40, but 4 at least for each.")                    \
    X(SCHEDULE, "shardwheel.dispatch.queue-max", dispatch_queue_max, INT, "fires", "200000", 1000, 10000000, 0,        \
      "Fires that may wait for a connection to their executor.")                                                       \
    X(SCHEDULE, "shardwheel.results.queue-max", results_queue_max, INT, "results", "200000", 1000, 10000000, 0,        \
      "Dispatch results that may wait to be written, half of them for their callbacks. From an eighth on fires "       \
      "go out no faster than results are written.")                                                                    \
    X(SCHEDULE, "shardwheel.trigger-msg", trigger_msg_long, SHORT_LONG, "", "short", 0, 1, 0,                          \
      "What trigger_msg of a success says. short: what no column has. long: everything, in the layout of xxl-job 3.3 " \
      "and later, failures too; rows are several times as large.")                                                     \
    X(SECURITY, "shardwheel.security.strict", security_strict, SWITCH, "", "off", 0, 1, 0,                             \
      "The start is refused with an access token or database password that is empty or known to everybody, and so is " \
      "the login of a user whose password is 123456; see security.md. off: warnings, at start and every day.")         \
    X(SECURITY, "shardwheel.core-dumps", core_dumps, SWITCH, "", "off", 0, 1, 0,                                       \
      "The memory may be written to a file in a crash, with the secrets in it, and be read by a debugger of the same " \
      "user.")                                                                                                         \
    X(LOG, "shardwheel.log.level", log_level, LEVEL, "", "info", 0, 3, KEY_RELOADABLE,                                 \
      "What is logged to stderr: this and all that is graver.")                                                        \
    X(LOG, "shardwheel.log.levels", log_levels, LEVELS, "", "", 0, 1000, KEY_RELOADABLE,                               \
      "Levels of areas that differ from it, such as schedule=debug,http=warn; see logs.md. An administrator changes "  \
      "both on a node that runs, until it ends: PUT /api/v1/log-levels.")                                              \
    X(LOG, "shardwheel.log.format", log_format, FORMAT, "", "keyvalue", 0, 1, KEY_RELOADABLE,                          \
      "How a line is written: as key=value pairs, or as one JSON object.")                                             \
    X(LOG, "shardwheel.audit.retention", audit_retention_days, INT, "days", "365", 1, 36500, 0,                        \
      "Days that the audit is kept: who changed what.")

#define CONFIG_SECTIONS(X)                                                                                             \
    X(SERVER, "Serving")                                                                                               \
    X(DATABASE, "Database")                                                                                            \
    X(ORIGINAL, "Executors and logs, as the original names them")                                                      \
    X(TLS, "How executors are called")                                                                                 \
    X(MAIL, "Alarm mails, as the original names them")                                                                 \
    X(ALARM, "Alarms")                                                                                                 \
    X(COORDINATION, "Coordination")                                                                                    \
    X(SCHEDULE, "Scheduling and dispatch")                                                                             \
    X(SECURITY, "Security")                                                                                            \
    X(LOG, "Logging")

enum key_section {
#define SECTION_ID(id, title) SECTION_##id,
    CONFIG_SECTIONS(SECTION_ID)
#undef SECTION_ID
};

/* kind, C type of its field */
#define CONFIG_KINDS(X)                                                                                                \
    X(INT, int64_t)                                                                                                    \
    X(DURATION, int64_t)                                                                                               \
    X(SIZE, int64_t)                                                                                                   \
    X(SWITCH, bool)                                                                                                    \
    X(AUTO_OFF, bool)                                                                                                  \
    X(SHORT_LONG, bool)                                                                                                \
    X(LEVEL, enum log_level)                                                                                           \
    X(FORMAT, enum log_format)                                                                                         \
    X(DIALECT, enum config_dialect)                                                                                    \
    X(GLUE, enum config_glue)                                                                                          \
    X(COORDINATION, enum config_coordination)                                                                          \
    X(TEXT, char *)                                                                                                    \
    X(PATH, char *)                                                                                                    \
    X(NAME, char *)                                                                                                    \
    X(ADDRESS, char *)                                                                                                 \
    X(LEVELS, char *)                                                                                                  \
    X(NETWORKS, char *)                                                                                                \
    X(SERVERS, char *)                                                                                                 \
    X(JDBC, char *)                                                                                                    \
    X(DRIVER, char *)

enum key_kind {
#define KIND_ID(kind, type) KIND_##kind,
    CONFIG_KINDS(KIND_ID)
#undef KIND_ID
};

struct key_row {
    enum key_section section;
    const char *name;
    size_t offset; /* of the field in struct config */
    enum key_kind kind;
    const char *unit;
    const char *default_text;
    int64_t min;
    int64_t max;
    unsigned flags;
    const char *help;
};

enum {
#define KEY_COUNT_ONE(section, name, field, kind, unit, def, min, max, flags, help) KEY_INDEX_##field,
    CONFIG_KEYS(KEY_COUNT_ONE)
#undef KEY_COUNT_ONE
        KEY_COUNT
};

extern const struct key_row key_rows[KEY_COUNT];
const char *key_section_title(enum key_section section);

/* A value between text and field. */
struct key_value {
    int64_t number; /* of INT, DURATION, SIZE, SWITCH, AUTO_OFF, SHORT_LONG, LEVEL, COORDINATION, DIALECT,
                       GLUE */
    char *text;     /* of the others; owned */
};

/* ERR_INPUT when the text is no value of the row's kind or out of bounds; the reason, for which `ec` may be NULL,
 * says only what is wrong with it where that needs words beyond key_write_expected. */
MUST_CHECK enum err key_parse(const struct key_row *row, const char *text, struct key_value *out, struct errctx *ec);
/* Bounds of the row hold for numbers only; key_parse has checked all else. */
bool key_is_in_bounds(const struct key_row *row, int64_t number);
/* The part of key_parse for numbers, and the words a switch, level or coordination can be; numbers.c. */
bool key_parse_number(const struct key_row *row, const char *text, int64_t *out);
void key_write_words(const struct key_row *row, struct buf *out);
/* A phrase to follow "expected". */
void key_write_expected(const struct key_row *row, struct buf *out);

/* Frees what the field held and moves the value in. */
void key_store(const struct key_row *row, struct config *config, struct key_value *value);
bool key_is_equal(const struct key_row *row, const struct config *a, const struct config *b);
MUST_CHECK enum err key_copy(const struct key_row *row, const struct config *from, struct config *to,
                             struct errctx *ec);
/* The value as it would stand in a file; secrets and passwords in URLs are hidden. */
void key_write_value(const struct key_row *row, const struct config *config, struct buf *out);
void key_write_number(const struct key_row *row, int64_t number, struct buf *out);

/* Appends the URL with every password in it replaced. */
void jdbc_url_write_redacted(const char *text, struct buf *out);
#endif
