/* SPDX-License-Identifier: MIT */
/* Puts what is missing into a database, and only that. */
#include <stdio.h>
#include <string.h>

#include "store/schema/schema.h"
#include "store/schema/schema_text.h"
#include "store/schema/upgrade.h"

/* Nodes that start at once on one database install one after the other. */
#define INSTALL_LOCK "shardwheel_install_"
#define INSTALL_WAIT_S 8
#define PASSWORD_BYTES 8 /* 16 hex digits: the original's login form takes 20 characters at most */

struct install {
    struct store_session *s;
    struct schema_facts before; /* what was there */
    void (*report)(void *arg, const char *what);
    void *arg;
    char password[2 * PASSWORD_BYTES + 1];
    bool made_admin;
};

static void report(struct install *in, const char *fmt, const char *name)
{
    char line[200];

    snprintf(line, sizeof line, fmt, name);
    if (in->report)
        in->report(in->arg, line);
}

/* ---- statements of sql/ ------------------------------------------------------------------------------------- */

/* The word behind `head`, where the statement begins with it. */
static bool read_name(const char *statement, const char *head, char *out, size_t size)
{
    size_t n = strlen(head), len;

    if (strncmp(statement, head, n) != 0)
        return false;
    len = strcspn(statement + n, " (\n");
    snprintf(out, size, "%.*s", (int)len, statement + n);
    return true;
}

static enum err run_statement(struct install *in, const char *statement, struct errctx *ec)
{
    struct db_effect effect = {0};
    char table[80];
    enum err e;

    store_start_sql(in->s, statement);
    e = store_write_sql(in->s, &effect, ec);
    if (e)
        return e;
    if (read_name(statement, "CREATE TABLE IF NOT EXISTS ", table, sizeof table)) {
        if (!schema_has_table(&in->before, table))
            report(in, "made table %s", table);
    } else if (read_name(statement, "INSERT INTO ", table, sizeof table) && effect.matched > 0) {
        if (strcmp(table, "xxl_job_user") == 0) {
            in->made_admin = true;
            report(in, "made the user %s with a random password", "admin");
        } else {
            report(in, "wrote the first row of %s", table);
        }
    }
    return ERR_OK;
}

/* Comments stand on lines of their own; a statement ends with a line that ends with ';'. */
static enum err run_script(struct install *in, const char *script, struct errctx *ec)
{
    struct buf statement = {0};
    enum err e = ERR_OK;

    while (*script && !e) {
        size_t len = strcspn(script, "\n");
        if (len > 0 && strncmp(script, "--", 2) != 0) {
            bool last = script[len - 1] == ';';
            buf_append(&statement, script, last ? len - 1 : len);
            buf_putc(&statement, '\n');
            if (buf_failed(&statement))
                e = err_set(ec, ERR_NOMEM, "out of memory");
            else if (last)
                e = run_statement(in, statement.data, ec);
            if (last)
                buf_clear(&statement);
        }
        script += len + (script[len] != '\0');
    }
    buf_fini(&statement);
    return e;
}

/* ---- the admin user ----------------------------------------------------------------------------------------- */

static enum err set_admin_password(struct install *in, struct errctx *ec)
{
    char hash[65];
    enum err e = random_hex(in->password, PASSWORD_BYTES, ec);

    if (e)
        return e;
    sha256_hex(in->password, hash);
    return store_exec(in->s, NULL, ec, "SET @admin_password_sha256 = ?", hash);
}

/* ---- installing --------------------------------------------------------------------------------------------- */

static enum err install_full(struct install *in, struct errctx *ec)
{
    enum err e = set_admin_password(in, ec);

    return e ? e : run_script(in, schema_text_full, ec);
}

static enum err install_lock_row(struct install *in, struct errctx *ec)
{
    struct db_effect effect = {0};
    enum err e;

    store_start_sql(in->s, "INSERT INTO xxl_job_lock (lock_name) SELECT 'schedule_lock' FROM DUAL WHERE NOT EXISTS "
                           "(SELECT 1 FROM xxl_job_lock WHERE lock_name = 'schedule_lock')");
    e = store_write_sql(in->s, &effect, ec);
    if (!e && effect.matched > 0)
        report(in, "wrote the missing row schedule_lock of %s", "xxl_job_lock");
    return e;
}

/* Our tables are made first, so that tables of xxl-job which are incomplete beside ours are an installation of ours
 * that was broken off; beside none of ours they are somebody else's, and not touched. */
static enum err install_missing(struct install *in, struct errctx *ec)
{
    struct store_features features;
    bool full = !schema_has_any_table(&in->before) ||
                (upgrade_is_installed(&in->before) && !schema_has_all_tables(&in->before));
    enum err e = full ? upgrade_check_version(in->before.own_version, OWN_VERSION, ec)
                      : schema_decide(&in->before, &features, ec);

    if (!e && !upgrade_is_complete(&in->before)) {
        e = run_script(in, schema_text_own, ec);
        if (!e)
            e = upgrade_run(in->s, &in->before, in->report, in->arg, ec);
    }
    if (!e)
        e = full ? install_full(in, ec) : install_lock_row(in, ec);
    /* Reads anew what is there now, and keeps it. */
    return e ? e : store_read_features(in->s, &features, ec);
}

static enum err lock_install(struct store_session *s, struct errctx *ec)
{
    char name[STORE_LOCK_NAME_MAX];
    int64_t got = 0;
    enum err e = store_ready_session(s, ec);

    if (!e)
        e = store_name_lock(s, INSTALL_LOCK, name, ec);
    if (!e)
        e = store_number(s, 0, &got, ec, "SELECT GET_LOCK(?, ?)", name, INSTALL_WAIT_S);
    return !e && got != 1 ? err_set(ec, ERR_BUSY, "another node has been installing for %d s", INSTALL_WAIT_S) : e;
}

enum err store_install_schema(struct store *st, void (*report_one)(void *arg, const char *what), void *arg,
                              char **admin_password, struct errctx *ec)
{
    struct install in = {.report = report_one, .arg = arg};
    char *password = NULL;
    enum err e = store_take_session(st, SESSION_NORMAL, &in.s, ec);

    if (!e)
        e = lock_install(in.s, ec);
    if (!e) {
        in.s->is_bound = true; /* the connection goes with the session, and the lock with it */
        e = schema_load_facts(in.s, &in.before, ec);
    }
    if (!e)
        e = install_missing(&in, ec);
    if (!e && in.made_admin) {
        password = str_copy(in.password);
        if (!password)
            e = err_set(ec, ERR_NOMEM, "out of memory");
    }
    schema_facts_fini(&in.before);
    explicit_bzero(in.password, sizeof in.password);
    store_give_session(st, in.s);
    if (e)
        return err_wrap(ec, e, "install the schema");
    *admin_password = password;
    return ERR_OK;
}
