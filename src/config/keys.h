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
    KEY_LENIENT = 4, /* a number out of bounds counts as the default, with a warning, as in xxl-job */
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
      "TCP port of the executor API, the metrics and the console. 0: any free port.")                                  \
    X(SERVER, "server.servlet.context-path", server_context_path, PATH, "", "", 0, 200, 0,                             \
      "Prefix of all URLs. The executor API is always available under / and /xxl-job-admin too.")                      \
    X(SERVER, "shardwheel.http.bind", http_bind, ADDRESS, "", "", 0, 64, 0,                                            \
      "IP address to listen on. Empty: all addresses.")                                                                \
    X(SERVER, "shardwheel.http.threads", http_threads, INT, "threads", "64", 4, 512, 0,                                \
      "Threads that answer HTTP requests. A quarter of them is for the console. Idle and slow "                        \
      "connections use no thread.")                                                                                    \
    X(SERVER, "shardwheel.http.trusted-networks", http_trusted_networks, NETWORKS, "", "", 0, 4000, 0,                 \
      "Networks of reverse proxies, such as 10.0.0.0/8,fd00::/8. X-Forwarded-For, -Proto and -Host are "               \
      "used only in requests from these networks. Empty: never.")                                                      \
    X(SERVER, "shardwheel.console.dialect", console_dialect, DIALECT, "", "auto", 0, 4, 0,                             \
      "Console API for calls that differ between versions of xxl-job: A is 2.3 to 3.1, B is 3.2, C is "                \
      "3.3 and 3.4, D is 3.5. auto: the version of the database schema.")                                              \
    X(SERVER, "shardwheel.console.web-dir", console_web_dir, TEXT, "", "", 0, 1000, 0,                                 \
      "Folder of the console files, as built by tools/web build. Empty: share/shardwheel/web of the "                  \
      "installation, or build/web in the source tree.")                                                                \
    X(SERVER, "shardwheel.login.proxy-header", login_proxy_header, TEXT, "", "", 0, 100, 0,                            \
      "Request header in which a reverse proxy passes the name of a user whom it has logged in, such "                 \
      "as X-Forwarded-User. The user must be in xxl_job_user. Empty: not used.")                                       \
    X(SERVER, "shardwheel.login.proxy-networks", login_proxy_networks, NETWORKS, "", "", 0, 4000, 0,                   \
      "Networks of these proxies. In requests from other addresses the header is ignored.")                            \
    X(SERVER, "shardwheel.glue", glue, GLUE, "", "on", 0, 2, 0,                                                        \
      "Jobs whose source is in the database (GLUE). off: no new GLUE jobs, and no changes of their "                   \
      "source; existing ones run. bean-only: existing ones do not run either, their fires fail with a "                \
      "reason.")                                                                                                       \
    X(HTTPS, "server.ssl.enabled", ssl_enabled, ENABLED, "", "auto", 0, 2, 0,                                          \
      "HTTPS instead of HTTP. auto: if there is a certificate or a key store. on: do not start without "               \
      "one. off: plain HTTP, whatever the keys below say.")                                                            \
    X(HTTPS, "server.ssl.certificate", ssl_certificate, TEXT, "", "", 0, 1000, 0,                                      \
      "PEM file with the certificate of this server, followed by its intermediate certificates. "                      \
      "Changed files are read again within a few seconds.")                                                            \
    X(HTTPS, "server.ssl.certificate-private-key", ssl_private_key, TEXT, "", "", 0, 1000, 0,                          \
      "PEM file with its private key. Empty: the key is in the same file.")                                            \
    X(HTTPS, "server.ssl.certificate-private-key-password", ssl_private_key_password, TEXT, "", "", 0, 1000,           \
      KEY_SECRET, "Password of the private key. Empty: it has none.")                                                  \
    X(HTTPS, "server.ssl.key-store", ssl_key_store, TEXT, "", "", 0, 1000, 0,                                          \
      "PKCS12 file with certificate and key, instead of PEM files. For a JKS key store, the error "                    \
      "shows the keytool command that converts it.")                                                                   \
    X(HTTPS, "server.ssl.key-store-password", ssl_key_store_password, TEXT, "", "", 0, 1000, KEY_SECRET,               \
      "Password of the key store.")                                                                                    \
    X(HTTPS, "server.ssl.key-store-type", ssl_key_store_type, TEXT, "", "", 0, 20, 0,                                  \
      "PKCS12, or empty. JKS is accepted for a file that is PKCS12, as by Java.")                                      \
    X(HTTPS, "server.ssl.key-password", ssl_key_password, TEXT, "", "", 0, 1000, KEY_SECRET,                           \
      "Password of the key in the key store. Empty, or the same as that of the key store.")                            \
    X(HTTPS, "server.ssl.key-alias", ssl_key_alias, TEXT, "", "", 0, 200, 0,                                           \
      "Entry of the key store. Only checked: it must be the first one.")                                               \
    X(HTTPS, "server.ssl.client-auth", ssl_client_auth, CLIENT_AUTH, "", "none", 0, 2, 0,                              \
      "Certificates of clients (mutual TLS). need: nobody connects without a valid one, browsers "                     \
      "included. want: a certificate is optional, but must be valid.")                                                 \
    X(HTTPS, "server.ssl.trust-certificate", ssl_trust_certificate, TEXT, "", "", 0, 1000, 0,                          \
      "PEM file with the CA certificates for clients.")                                                                \
    X(HTTPS, "server.ssl.trust-store", ssl_trust_store, TEXT, "", "", 0, 1000, 0,                                      \
      "PKCS12 file with them, instead of a PEM file.")                                                                 \
    X(HTTPS, "server.ssl.trust-store-password", ssl_trust_store_password, TEXT, "", "", 0, 1000, KEY_SECRET,           \
      "Password of the trust store.")                                                                                  \
    X(HTTPS, "server.ssl.trust-store-type", ssl_trust_store_type, TEXT, "", "", 0, 20, 0,                              \
      "As server.ssl.key-store-type.")                                                                                 \
    X(HTTPS, "shardwheel.http.hsts", hsts_ms, DURATION, "ms", "365d", 0, 3650 * 24 * HOUR_MS, 0,                       \
      "Time for which browsers use only HTTPS for this host name, on all its ports "                                   \
      "(Strict-Transport-Security). Sent with HTTPS only. 0: not sent.")                                               \
    X(DATABASE, "spring.datasource.url", datasource_url, JDBC, "", "", 0, 4000, 0,                                     \
      "JDBC URL of the xxl-job database. Required, except with standalone --data DIR. serverTimezone "                 \
      "must be the same as for the Java admins: it is the time zone of DATETIME columns.")                             \
    X(DATABASE, "spring.datasource.username", datasource_username, TEXT, "", "", 0, 200, 0,                            \
      "Database user. Empty: the user in the URL.")                                                                    \
    X(DATABASE, "spring.datasource.password", datasource_password, TEXT, "", "", 0, 1000, KEY_SECRET,                  \
      "Password of the database user.")                                                                                \
    X(DATABASE, "spring.datasource.driver-class-name", datasource_driver, DRIVER, "", "", 0, 200, 0,                   \
      "Only checked: a driver for a database other than MySQL or MariaDB is an error.")                                \
    X(DATABASE, "spring.datasource.hikari.maximum-pool-size", datasource_max_sessions, INT, "sessions", "30", 1, 1000, \
      0, "Maximum number of database connections.")                                                                    \
    X(DATABASE, "spring.datasource.hikari.connection-timeout", datasource_connection_timeout_ms, DURATION, "ms",       \
      "10000", 250, 10 * MINUTE_MS, 0, "Maximum time to wait for a database connection.")                              \
    X(DATABASE, "shardwheel.schema.auto", schema_auto, SWITCH, "", "on", 0, 1, 0,                                      \
      "At startup, add missing tables, columns and indexes to the database. off: do not start if "                     \
      "something is missing; use install-schema.")                                                                     \
    X(ORIGINAL, "xxl.job.accessToken", access_token, TEXT, "", "", 0, 500, KEY_RELOADABLE | KEY_SECRET,                \
      "Shared secret of executors and nodes. It must be the same on both sides. Empty: no token is "                   \
      "checked.")                                                                                                      \
    X(ORIGINAL, "xxl.job.timeout", executor_timeout_ms, DURATION, "s", "3", 1 * SECOND_MS, ANSWER_MAX_MS,              \
      KEY_RELOADABLE | KEY_LENIENT, "Maximum time to wait for the answer of an executor.")                             \
    X(ORIGINAL, "xxl.job.logretentiondays", log_retention_days, INT, "days", "30", -1, 100000, 0,                      \
      "Days to keep log rows. Less than 3: keep them forever. A job can have its own number.")                         \
    X(ORIGINAL, "xxl.job.i18n", i18n, TEXT, "", "zh_CN", 0, 20, 0,                                                     \
      "Language of the texts in log rows: zh_CN, zh_TC or en. Any other value means zh_CN.")                           \
    X(ORIGINAL, "xxl-sso.token.key", login_cookie, TEXT, "", "xxl_job_login_token", 1, 100, 0,                         \
      "Name of the login cookie.")                                                                                     \
    X(TLS, "shardwheel.executor.tls.verify", tls_verify, SWITCH, "", "on", 0, 1, KEY_RELOADABLE,                       \
      "Check the certificates of https executors: valid, and issued for the host or IP address. off: "                 \
      "accept any certificate, as xxl-job does.")                                                                      \
    X(TLS, "shardwheel.executor.tls.ca", tls_ca, TEXT, "", "", 0, 1000, KEY_RELOADABLE,                                \
      "PEM file with the CA certificates for executors. Empty: those of the system.")                                  \
    X(TLS, "shardwheel.executor.tls.cert", tls_cert, TEXT, "", "", 0, 1000, KEY_RELOADABLE,                            \
      "PEM file with the client certificate for executors that ask for one. Empty: none.")                             \
    X(TLS, "shardwheel.executor.tls.key", tls_key, TEXT, "", "", 0, 1000, KEY_RELOADABLE,                              \
      "PEM file with the private key of the client certificate, without a password. Empty: the key is "                \
      "in the same file.")                                                                                             \
    X(TLS, "shardwheel.executor.networks", executor_networks, NETWORKS, "", "", 0, 4000, 0,                            \
      "Networks of executors that may be called. ! before a network excludes it: "                                     \
      "10.0.0.0/8,!10.1.0.0/16. The longest prefix decides. Empty: all except link-local, metadata and "               \
      "multicast addresses; see security.md.")                                                                         \
    X(MAIL, "spring.mail.host", mail_host, TEXT, "", "", 0, 255, 0,                                                    \
      "Mail server for alarms. Empty: no email is sent, and alarms by email count as failed.")                         \
    X(MAIL, "spring.mail.port", mail_port, INT, "", "25", 1, 65535, 0,                                                 \
      "Port of the mail server. 465 is usual for TLS from the start.")                                                 \
    X(MAIL, "spring.mail.protocol", mail_protocol, TEXT, "", "smtp", 4, 5, 0,                                          \
      "smtp, or smtps for TLS from the start.")                                                                        \
    X(MAIL, "spring.mail.username", mail_username, TEXT, "", "", 0, 255, 0,                                            \
      "User of the mail server. Empty: no login.")                                                                     \
    X(MAIL, "spring.mail.password", mail_password, TEXT, "", "", 0, 1000, KEY_SECRET, "Password of this user.")        \
    X(MAIL, "spring.mail.from", mail_from, TEXT, "", "", 0, 255, 0, "Sender address. Empty: spring.mail.username.")    \
    X(MAIL, "spring.mail.properties.mail.smtp.auth", mail_auth, SWITCH, "", "on", 0, 1, 0,                             \
      "off: no login, even if a user is set.")                                                                         \
    X(MAIL, "spring.mail.properties.mail.smtp.starttls.enable", mail_starttls, SWITCH, "", "off", 0, 1, 0,             \
      "Use TLS if the mail server offers STARTTLS.")                                                                   \
    X(MAIL, "spring.mail.properties.mail.smtp.starttls.required", mail_starttls_required, SWITCH, "", "off", 0, 1, 0,  \
      "Use TLS by STARTTLS, or send no email.")                                                                        \
    X(MAIL, "spring.mail.properties.mail.smtp.ssl.enable", mail_ssl, SWITCH, "", "off", 0, 1, 0,                       \
      "Use TLS from the start.")                                                                                       \
    X(MAIL, "spring.mail.properties.mail.smtp.ssl.trust", mail_ssl_trust, TEXT, "", "", 0, 500, 0,                     \
      "*: accept any certificate of the mail server. Otherwise it must be valid.")                                     \
    X(MAIL, "spring.mail.properties.mail.smtp.socketFactory.class", mail_socket_factory, TEXT, "", "", 0, 255, 0,      \
      "Any class name, together with port 465: use TLS from the start. Has no effect on other ports.")                 \
    X(ALARM, "shardwheel.alarm.channels", alarm_channels, TEXT, "", "", 0, 20000, KEY_SECRET | KEY_LINES,              \
      "Channels that get alarms, besides the email addresses of jobs: KIND=TARGET, followed by "                       \
      "secret=, groups=, tags=, quiet= and name=, separated by spaces. See alarms.md.")                                \
    X(ALARM, "shardwheel.alarm.every", alarm_every_ms, DURATION, "ms", "10m", 0, 24 * HOUR_MS, 0,                      \
      "At most one message about a job in this time. The first failure is sent immediately, later ones "               \
      "together in one message.")                                                                                      \
    X(ALARM, "shardwheel.alarm.recovery", alarm_recovery, SWITCH, "", "on", 0, 1, 0,                                   \
      "Send a message when a failed job succeeds again.")                                                              \
    X(ALARM, "shardwheel.alarm.offline", alarm_offline, SWITCH, "", "on", 0, 1, 0,                                     \
      "Send a message to the channels when an executor disappears, or when a group has no executor.")                  \
    X(ALARM, "shardwheel.alarm.title", alarm_title, TEXT, "", "", 0, 1000, 0,                                          \
      "Title of alarms and subject of emails, with placeholders such as {job}: see alarms.md. Empty: "                 \
      "the built-in title.")                                                                                           \
    X(ALARM, "shardwheel.alarm.text", alarm_text, TEXT, "", "", 0, 8000, KEY_LINES,                                    \
      "Text of alarms, with the same placeholders. \\n is a line break.")                                              \
    X(ALARM, "shardwheel.alarm.link", alarm_link, TEXT, "", "", 0, 1000, 0,                                            \
      "URL of the console, for links in alarms.")                                                                      \
    X(ALARM, "shardwheel.alarm.ca", alarm_ca, TEXT, "", "", 0, 1000, 0,                                                \
      "PEM file with the CA certificates for webhooks. Empty: those of the system.")                                   \
    X(ALARM, "shardwheel.alarm.console-channels", alarm_console_channels, SWITCH, "", "on", 0, 1, 0,                   \
      "Administrators can add webhooks in the console, besides shardwheel.alarm.channels. off: "                       \
      "webhooks of the console are not used, and none can be added.")                                                  \
    X(COORDINATION, "shardwheel.coordination", coordination, COORDINATION, "", "auto", 0, 2, 0,                        \
      "How nodes agree on the owner of each shard. standalone: for a single node. auto: zookeeper if "                 \
      "its servers are set, otherwise standalone.")                                                                    \
    X(COORDINATION, "shardwheel.zookeeper.servers", zookeeper_servers, SERVERS, "", "", 0, 2000, 0,                    \
      "ZooKeeper servers as host:port,host:port. A path may follow the last one.")                                     \
    X(COORDINATION, "shardwheel.zookeeper.session-timeout", zookeeper_session_timeout_ms, DURATION, "ms", "4s",        \
      1 * SECOND_MS, 60 * SECOND_MS, 0,                                                                                \
      "Time without a heartbeat after which the shards of a node move to other nodes. Fires are "                      \
      "planned 5 s ahead: with a longer timeout, fires of a failed node can be late.")                                 \
    X(COORDINATION, "shardwheel.zookeeper.base-path", zookeeper_base_path, PATH, "", "/xxl-job", 2, 200, 0,            \
      "Path of the locks and members in ZooKeeper. It must be the same on all nodes.")                                 \
    X(COORDINATION, "shardwheel.shards", shards, INT, "shards", "8", 1, 1024, 0,                                       \
      "Number of shards when the cluster starts for the first time. After that the number in the "                     \
      "database counts. shardwheelctl reshard changes it while nodes run.")                                            \
    X(COORDINATION, "shardwheel.lock.max-hold", lock_max_hold_ms, DURATION, "ms", "10m", 0, 30 * 24 * HOUR_MS, 0,      \
      "Time after which a node hands a shard over to another node, so that handovers happen regularly. "               \
      "0: never.")                                                                                                     \
    X(COORDINATION, "shardwheel.java-guard", java_guard, AUTO_OFF, "", "auto", 0, 1, 0,                                \
      "While a node runs, keep Java admins on the same database on standby. Fires are planned only while they are on " \
      "standby. "                                                                                                      \
      "off: for a database that no Java admin uses.")                                                                  \
    X(COORDINATION, "shardwheel.node.name", node_name, NAME, "", "", 0, 100, 0,                                        \
      "Name of this node in logs, the database and ZooKeeper. Empty: host name, port and a random part.")              \
    X(SCHEDULE, "shardwheel.time-zone", time_zone, TEXT, "", "", 0, 100, 0,                                            \
      "Time zone of cron expressions, such as Asia/Shanghai. Empty: the time zone of the process (TZ, "                \
      "/etc/localtime).")                                                                                              \
    X(SCHEDULE, "shardwheel.delivery-unknown.resend", delivery_unknown_resend, SWITCH, "", "off", 0, 1, 0,             \
      "What to do with a fire that was being sent when its node failed. off: it ends as failed, "                      \
      "delivery unknown, and the job's retries and alarms apply. on: it is sent again with the same "                  \
      "log id, so an executor may run it twice. It must be the same on all nodes.")                                    \
    X(SCHEDULE, "shardwheel.skipped-rows", skipped_rows, SWITCH, "", "on", 0, 1, 0,                                    \
      "Write a row into xxl_job_log for skipped due times (misfire strategy, next time set into the "                  \
      "past): one row for each job and outage, with their number. Such a row is not a failure: there "                 \
      "are no retries and no alarms for it.")                                                                          \
    X(SCHEDULE, "shardwheel.lost-runs.ask", lost_runs_ask, SWITCH, "", "on", 0, 1, 0,                                  \
      "Ask executors once a minute, by idleBeat, about runs that are older than a minute. If an "                      \
      "executor answers twice that the job is idle, the run is lost and ends as failed. off: for "                     \
      "executors that give this answer while a job runs.")                                                             \
    X(SCHEDULE, "shardwheel.trigger-msg", trigger_msg_long, SHORT_LONG, "", "short", 0, 1, 0,                          \
      "Content of trigger_msg of a successful run. short: only what is in no other column. long: "                     \
      "everything, in the layout of xxl-job 3.3 and later, for failures too; rows are several times "                  \
      "larger.")                                                                                                       \
    X(LOGIN, "shardwheel.login.local", login_local, TEXT, "", "all", 0, 4000, KEY_RELOADABLE,                          \
      "Who may log in with a password of xxl_job_user: all, none, or user names separated by commas. Keep a few "      \
      "users for the time when the login provider does not answer.")                                                   \
    X(LOGIN, "shardwheel.login.mapping", login_mapping, TEXT, "", "", 0, 20000, KEY_RELOADABLE | KEY_LINES,            \
      "What users of OpenID Connect or LDAP may do, by their groups there: rules separated by semicolons, such as "    \
      "ops -> admin; team-pay -> user in pay-executor,other; *-readers -> reader. See users.md. A person who matches " \
      "no rule is refused.")                                                                                           \
    X(LOGIN, "shardwheel.login.outside-session", login_outside_session_ms, DURATION, "ms", "8h", MINUTE_MS,            \
      90 * 24 * HOUR_MS, KEY_RELOADABLE,                                                                               \
      "Time after which the sessions of these people end, and their groups are asked for again. A person who was "     \
      "removed at the provider has no session here after this time.")                                                  \
    X(LOGIN, "shardwheel.login.outside-tokens", login_outside_tokens_ms, DURATION, "ms", "7d", 0, 3650 * 24 * HOUR_MS, \
      KEY_RELOADABLE, "Time after their last login during which their API tokens are accepted. 0: never.")             \
    X(OIDC, "shardwheel.oidc.issuer", oidc_issuer, TEXT, "", "", 0, 500, 0,                                            \
      "Issuer of an OpenID Connect provider, exactly as in its discovery document, such as "                           \
      "https://login.example.com/realms/main. Empty: not used. See users.md.")                                         \
    X(OIDC, "shardwheel.oidc.client-id", oidc_client_id, TEXT, "", "", 0, 300, 0,                                      \
      "Client id that the provider has given to this console.")                                                        \
    X(OIDC, "shardwheel.oidc.client-secret", oidc_client_secret, TEXT, "", "", 0, 1000, KEY_SECRET,                    \
      "Its client secret. Empty: a public client, protected by PKCE only.")                                            \
    X(OIDC, "shardwheel.oidc.scopes", oidc_scopes, TEXT, "", "openid profile email", 0, 500, 0,                        \
      "Scopes to request, separated by spaces. Some providers send groups only with a scope such as groups.")          \
    X(OIDC, "shardwheel.oidc.name-claims", oidc_name_claims, TEXT, "", "preferred_username,email", 1, 500, 0,          \
      "Claims, separated by commas. The first one that exists is the user name of a new user.")                        \
    X(OIDC, "shardwheel.oidc.groups-claims", oidc_groups_claims, TEXT, "", "groups", 0, 500, 0,                        \
      "Claims with the groups for shardwheel.login.mapping, separated by commas. A dot leads into an object: "         \
      "realm_access.roles.")                                                                                           \
    X(OIDC, "shardwheel.oidc.title", oidc_title, TEXT, "", "", 0, 60, 0,                                               \
      "Text of the button on the login page. Empty: a text in the language of the page.")                              \
    X(OIDC, "shardwheel.oidc.redirect-uri", oidc_redirect_uri, TEXT, "", "", 0, 500, 0,                                \
      "URL of this console for the provider: it ends with /auth/oidc/callback, and is registered there. "              \
      "Empty: made of the host name that the browser uses.")                                                           \
    X(OIDC, "shardwheel.oidc.ca", oidc_ca, TEXT, "", "", 0, 1000, 0,                                                   \
      "PEM file with the CA certificates for the provider. Empty: those of the system.")                               \
    X(LDAP, "shardwheel.ldap.url", ldap_url, TEXT, "", "", 0, 1000, 0,                                                 \
      "LDAP server or Active Directory that logs people in, such as ldaps://ldap.example.org. If there are several, "  \
      "separated by spaces, the next one is used when one does not answer. Empty: none.")                              \
    X(LDAP, "shardwheel.ldap.starttls", ldap_starttls, SWITCH, "", "on", 0, 1, 0,                                      \
      "Encrypt ldap:// connections with StartTLS. off: passwords are sent in plain text.")                             \
    X(LDAP, "shardwheel.ldap.ca-file", ldap_ca_file, TEXT, "", "", 0, 1000, 0,                                         \
      "PEM file with the CA certificates for the LDAP server. Empty: those of the system.")                            \
    X(LDAP, "shardwheel.ldap.bind-dn", ldap_bind_dn, TEXT, "", "", 0, 1000, 0,                                         \
      "DN of the account that searches for users and groups. In Active Directory user@domain is possible "             \
      "too. Empty: anonymous.")                                                                                        \
    X(LDAP, "shardwheel.ldap.bind-password", ldap_bind_password, TEXT, "", "", 0, 1000, KEY_SECRET,                    \
      "Password of this account.")                                                                                     \
    X(LDAP, "shardwheel.ldap.base-dn", ldap_base_dn, TEXT, "", "", 0, 1000, 0,                                         \
      "Entry below which users are, such as ou=people,dc=example,dc=org. Required with a URL.")                        \
    X(LDAP, "shardwheel.ldap.user-filter", ldap_user_filter, TEXT, "", "(uid={user})", 0, 2000, 0,                     \
      "Filter that finds exactly one entry by the name that was typed, {user}.")                                       \
    X(LDAP, "shardwheel.ldap.name-attribute", ldap_name_attribute, TEXT, "", "uid", 0, 100, 0,                         \
      "Attribute with the user name. Active Directory: sAMAccountName.")                                               \
    X(LDAP, "shardwheel.ldap.group-base-dn", ldap_group_base_dn, TEXT, "", "", 0, 1000, 0,                             \
      "Entry below which groups are. Empty: the same as for users.")                                                   \
    X(LDAP, "shardwheel.ldap.group-filter", ldap_group_filter, TEXT, "",                                               \
      "(|(member={dn})(uniqueMember={dn})(memberUid={user}))", 0, 2000, 0,                                             \
      "Filter that finds the groups of a user, or of a group. {dn} is the DN, {user} the user name. "                  \
      "Groups in groups are found too; with the default, Active Directory finds them itself.")                         \
    X(LDAP, "shardwheel.ldap.group-attribute", ldap_group_attribute, TEXT, "", "cn", 0, 100, 0,                        \
      "Attribute with the name of a group, for shardwheel.login.mapping.")                                             \
    X(LDAP, "shardwheel.ldap.timeout", ldap_timeout_ms, DURATION, "ms", "5s", 1 * SECOND_MS, 60 * SECOND_MS, 0,        \
      "Maximum time for all questions of one login.")                                                                  \
    X(SECURITY, "shardwheel.security.strict", security_strict, SWITCH, "", "off", 0, 1, 0,                             \
      "on: do not start with an access token or a database password that is empty or a public default, "               \
      "and refuse logins of users whose password is 123456; see security.md. off: only warn, at "                      \
      "startup and every day.")                                                                                        \
    X(SECURITY, "shardwheel.passwords", strong_passwords, PASSWORDS, "", "original", 0, 1, 0,                          \
      "How passwords of users are stored. original: in xxl_job_user, as Java admins need them (MD5 or "                \
      "SHA-256). strong: argon2id, in a table of shardwheel; Java admins refuse these users. A password is converted " \
      "at the next login of its user. It must be the same on all nodes; see users.md.")                                \
    X(SECURITY, "shardwheel.second-factor", second_factor, ROLES, "", "none", 0, 60, 0,                                \
      "Roles whose users need a code of an authenticator app, besides the password: none, all, or "                    \
      "admin,user,runner,reader. Other users can set one up. It must be the same on all nodes; see users.md.")         \
    X(SECURITY, "shardwheel.core-dumps", core_dumps, SWITCH, "", "off", 0, 1, 0,                                       \
      "on: allow core dumps, which contain secrets, and debuggers of the same user.")                                  \
    X(KEPT, "shardwheel.kept-logs", kept_logs, KEPT, "", "off", 0, 2, 0,                                               \
      "Logs of runs that a node fetches from the executor when the run has ended, and keeps in the "                   \
      "database: off, failed (runs that did not succeed) or all. A job can have its own setting. The "                 \
      "console shows a kept log when the executor is gone.")                                                           \
    X(KEPT, "shardwheel.kept-logs-size", kept_logs_size, SIZE, "bytes", "64k", 4 * KIBI, 1 * MEBI, 0,                  \
      "Maximum size of one kept log before compression. Of a longer one the first and the last lines are "             \
      "kept.")                                                                                                         \
    X(KEPT, "shardwheel.kept-logs-total", kept_logs_total, SIZE, "bytes", "1024m", 1 * MEBI, 1024 * 1024 * MEBI, 0,    \
      "Maximum size of all kept logs, compressed. The oldest are deleted.")                                            \
    X(KEPT, "shardwheel.kept-logs-days", kept_logs_days, INT, "days", "30", 1, 36500, 0,                               \
      "Days to keep them. They are deleted with their log row, if that is earlier.")                                   \
    X(LOG, "shardwheel.log.level", log_level, LEVEL, "", "info", 0, 3, KEY_RELOADABLE,                                 \
      "Log lines of this level and above are written to stderr.")                                                      \
    X(LOG, "shardwheel.log.levels", log_levels, LEVELS, "", "", 0, 1000, KEY_RELOADABLE,                               \
      "Levels of single areas, such as schedule=debug,http=warn; see logs.md. An administrator can "                   \
      "change both levels of a running node, until it ends: PUT /api/v1/log-levels.")                                  \
    X(LOG, "shardwheel.log.format", log_format, FORMAT, "", "keyvalue", 0, 1, KEY_RELOADABLE,                          \
      "Format of log lines: key=value pairs, or one JSON object.")                                                     \
    X(LOG, "shardwheel.audit.retention", audit_retention_days, INT, "days", "365", 1, 36500, 0,                        \
      "Days to keep the audit log.")                                                                                   \
    X(CTL, "shardwheel.ctl.url", ctl_url, TEXT, "", "", 0, 1000, 0,                                                    \
      "Address of a node or of the load balancer, for shardwheelctl commands that use the API. Empty: "                \
      "http://127.0.0.1 with server.port and the context path.")                                                       \
    X(CTL, "shardwheel.ctl.token", ctl_token, TEXT, "", "", 0, 500, KEY_SECRET,                                        \
      "API token for these commands. Users create tokens in the console.")                                             \
    X(CTL, "shardwheel.ctl.ca", ctl_ca, TEXT, "", "", 0, 1000, 0,                                                      \
      "PEM file with the CA certificates for an https address. Empty: those of the system.")

#define CONFIG_SECTIONS(X)                                                                                             \
    X(SERVER, "Server")                                                                                                \
    X(HTTPS, "HTTPS")                                                                                                  \
    X(DATABASE, "Database")                                                                                            \
    X(ORIGINAL, "Executors and logs (xxl-job keys)")                                                                   \
    X(TLS, "Calls to executors")                                                                                       \
    X(MAIL, "Alarm email (xxl-job keys)")                                                                              \
    X(ALARM, "Alarms")                                                                                                 \
    X(COORDINATION, "Coordination")                                                                                    \
    X(SCHEDULE, "Scheduling and dispatch")                                                                             \
    X(LOGIN, "Logins")                                                                                                 \
    X(OIDC, "OpenID Connect")                                                                                          \
    X(LDAP, "LDAP and Active Directory")                                                                               \
    X(SECURITY, "Security")                                                                                            \
    X(KEPT, "Kept logs of runs")                                                                                       \
    X(LOG, "Logging")                                                                                                  \
    X(CTL, "shardwheelctl")

enum key_section {
#define SECTION_ID(id, title) SECTION_##id,
    CONFIG_SECTIONS(SECTION_ID)
#undef SECTION_ID
};

/* kind, C type of its field, how that is held */
#define CONFIG_KINDS(X)                                                                                                \
    X(INT, int64_t, NUMBER)                                                                                            \
    X(DURATION, int64_t, NUMBER)                                                                                       \
    X(SIZE, int64_t, NUMBER)                                                                                           \
    X(SWITCH, bool, BOOL)                                                                                              \
    X(AUTO_OFF, bool, BOOL)                                                                                            \
    X(SHORT_LONG, bool, BOOL)                                                                                          \
    X(PASSWORDS, bool, BOOL)                                                                                           \
    X(LEVEL, enum log_level, ENUM)                                                                                     \
    X(FORMAT, enum log_format, ENUM)                                                                                   \
    X(DIALECT, enum config_dialect, ENUM)                                                                              \
    X(GLUE, enum config_glue, ENUM)                                                                                    \
    X(KEPT, enum kept_which, ENUM)                                                                                     \
    X(ENABLED, enum config_enabled, ENUM)                                                                              \
    X(CLIENT_AUTH, enum config_client_auth, ENUM)                                                                      \
    X(COORDINATION, enum config_coordination, ENUM)                                                                    \
    X(TEXT, char *, TEXT)                                                                                              \
    X(PATH, char *, TEXT)                                                                                              \
    X(NAME, char *, TEXT)                                                                                              \
    X(ADDRESS, char *, TEXT)                                                                                           \
    X(LEVELS, char *, TEXT)                                                                                            \
    X(ROLES, char *, TEXT)                                                                                             \
    X(NETWORKS, char *, TEXT)                                                                                          \
    X(SERVERS, char *, TEXT)                                                                                           \
    X(JDBC, char *, TEXT)                                                                                              \
    X(DRIVER, char *, TEXT)

enum key_kind {
#define KIND_ID(kind, type, held) KIND_##kind,
    CONFIG_KINDS(KIND_ID)
#undef KIND_ID
};

enum key_held { HELD_NUMBER, HELD_BOOL, HELD_ENUM, HELD_TEXT }; /* all but the last are numbers to others */

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

#endif
