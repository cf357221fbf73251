/* SPDX-License-Identifier: MIT */
/* help: the table of keys as people read it: --help, --help-config, the sample file, docs/configuration.md. */
#include "shardwheel/config.h"

#include "config/args.h"
#include "config/keys.h"
#include "config/original.h"
#include "shardwheel/text.h"

#include <string.h>

#define WIDTH 100

void config_write_usage(struct buf *out)
{
    buf_puts(out,
             "usage: " CONFIG_USAGE "\n"
             "\n"
             "A job scheduler on the database and with the executors of xxl-job.\n"
             "\n"
             "  (no command)           run a node of the configured database\n"
             "  standalone             run the only node, without ZooKeeper\n"
             "  standalone --data DIR  the same with a private database server that keeps its data in DIR\n"
             "  install-schema         create missing tables in the configured database, then exit\n"
             "  ctl COMMAND            control a cluster: see shardwheel ctl --help\n"
             "\n"
             "  --config FILE          read this properties file. Can be repeated; later files override. Default:\n"
             "                         ./application.properties and ./config/application.properties, if they exist\n"
             "  --KEY=VALUE            set a key, for example --server.port=8080; overrides environment and files\n"
             "  -h, --help             show this text\n"
             "  --help-config          show every key with default, allowed values and meaning;\n"
             "                         =properties as a sample file, =markdown as a document\n"
             "  --version              show the version\n");
}

void config_write_ctl_usage(struct buf *out)
{
    buf_puts(
        out,
        "usage: shardwheelctl COMMAND [--config FILE]... [--KEY=VALUE]...   (or: shardwheel ctl COMMAND ...)\n"
        "\n"
        "Shows and controls a cluster. It uses the database of the nodes, with their configuration. kill and log also "
        "connect\n"
        "to the executor of the run; doctor also connects to ZooKeeper and the nodes.\n"
        "\n"
        "  shards [--json]              show the owner and the progress of each shard\n"
        "  nodes [--json]               show the nodes and their state\n"
        "  drain NODE [--force]         move all shards away from NODE, until it is undrained or ends. Refused when no "
        "other\n"
        "                               node is live, unless forced\n"
        "  undrain NODE                 let NODE own shards again\n"
        "  release SHARD                move the shard to another node\n"
        "  reshard N                    change the number of shards, 1 to 1024, while nodes run\n"
        "  reshard cancel               cancel a change that is not done yet\n"
        "  set-zone database ZONE       set the cluster's zone of DATETIME columns, when no node runs. Refused while "
        "there\n"
        "           [--force]           are planned fires that nodes with the new zone would not find, unless forced\n"
        "  set-zone cron ZONE           set the cluster's zone of cron expressions, when no node runs\n"
        "  job ID [--json]              show the schedule of a job and its settings that xxl-job does not have\n"
        "  set-job ID --SETTING VALUE... [--json]\n"
        "                               change them; \"none\" clears a setting. SETTING: time-zone, fixed-delay, "
        "valid-from,\n"
        "                               valid-until, retry-wait, retry-wait-max, hold, resend-lost, retention-days,\n"
        "                               tags\n"
        "  why JOB [--from TIME]        show each due time and what happened, in one sentence. Default: the last "
        "hour.\n"
        "          [--to TIME] [--json] TIME: YYYY-MM-DD HH:MM[:SS], followed by Z for UTC\n"
        "  trigger JOB [--param P] [--addresses A] [--at TIME] [--json]\n"
        "                               run a job, now or at a time\n"
        "  doctor [--json] [--verbose]  check the whole installation and say what to change. Status: 0 fine, 1 "
        "warnings,\n"
        "         [--wait S]            2 critical, 3 not checked. --verbose: also list what is fine.\n"
        "         [--ask-executors]     --ask-executors: also call each executor.\n"
        "  later [--json]               list waiting runs: manual runs for a time, retries, fires\n"
        "  cancel-later ID              cancel one of them\n"
        "  going-back [--json]          list what a Java admin will not do\n"
        "  after-restore [--from TIME]  for a database that was restored from a backup, when no node runs: what was "
        "due since\n"
        "        [--ids N] [--dry-run]  may have run, and is not sent again; it is listed. TIME of the backup, if it "
        "is not\n"
        "        [--force] [--json]     the time of the newest cursor; skip N ids of the log\n"
        "  kill ID                      end the run with this id in xxl_job_log, and all other runs of its job on the "
        "same\n"
        "                               executor\n"
        "  log ID [--follow]            show the log of a run, read from its executor; --follow: until the run ends\n"
        "  alarm-test [--json]          send a test message to every alarm channel and show the result.\n"
        "           [--group APP]       Only channels of this executor group\n"
        "\n"
        "  --wait S                     seconds to wait for the result. Default: drain, release and doctor 30, reshard "
        "60\n"
        "  --data DIR                   the database of a node that runs as: shardwheel standalone --data DIR\n"
        "\n"
        "NODE is the name or incarnation of a node, or the beginning of one. Status: 0 done, 1 not done, 2 wrong "
        "usage.\n");
}

/* What stands for a value in examples where the default is empty. */
static const char *example_of(const struct key_row *row)
{
    if (*row->default_text)
        return row->default_text;
    if (row->kind == KIND_JDBC)
        return "jdbc:mysql://127.0.0.1:3306/xxl_job?serverTimezone=Asia/Shanghai";
    if (row->kind == KIND_SERVERS)
        return "127.0.0.1:2181";
    return "";
}

static void write_section_title(size_t index, const char *before, const char *after, struct buf *out)
{
    if (index && key_rows[index].section == key_rows[index - 1].section)
        return;
    buf_printf(out, "%s%s%s", before, key_section_title(key_rows[index].section), after);
}

static void write_key(const struct key_row *row, const char *prefix, struct buf *out)
{
    struct buf expected = {0};

    text_put_wrapped(out, prefix, row->help, WIDTH);
    buf_puts(&expected, "Value: ");
    key_write_expected(row, &expected);
    buf_puts(&expected, row->flags & KEY_LENIENT ? "; any other number means the default." : ".");
    if (row->flags & KEY_RELOADABLE)
        buf_puts(&expected, " A reload applies it.");
    if (buf_failed(&expected))
        out->failed = true;
    else
        text_put_wrapped(out, prefix, expected.data, WIDTH);
    buf_fini(&expected);
}

static void write_text(struct buf *out)
{
    buf_puts(out, "All keys with their defaults. Set a key in a properties file, as --KEY=VALUE, or as an environment\n"
                  "variable in upper case with underscores (SERVER_PORT).\n");
    for (size_t i = 0; i < KEY_COUNT; i++) {
        write_section_title(i, "\n== ", " ==\n\n", out);
        buf_printf(out, "%s=%s\n", key_rows[i].name, key_rows[i].default_text);
        write_key(&key_rows[i], "        ", out);
    }
}

static void write_properties(struct buf *out)
{
    buf_puts(out, "# Configuration of shardwheel. All keys with their defaults. Remove the # to set a key.\n"
                  "# Written by: shardwheel --help-config=properties\n");
    for (size_t i = 0; i < KEY_COUNT; i++) {
        write_section_title(i, "\n# ---- ", " ----\n", out);
        buf_putc(out, '\n');
        write_key(&key_rows[i], "# ", out);
        buf_printf(out, "#%s=%s\n", key_rows[i].name, example_of(&key_rows[i]));
    }
}

/* A cell of a table: a bar would end it. */
static void write_cell(const char *text, struct buf *out)
{
    for (; *text; text++) {
        if (*text == '|')
            buf_putc(out, '\\');
        buf_putc(out, *text);
    }
    buf_puts(out, " |");
}

static void write_table_row(const struct key_row *row, struct buf *out)
{
    struct buf expected = {0};

    key_write_expected(row, &expected);
    if (row->flags & KEY_LENIENT)
        buf_puts(&expected, "; any other number means the default");
    buf_puts(&expected, "");
    if (buf_failed(&expected)) {
        out->failed = true;
        buf_fini(&expected);
        return;
    }
    if (*row->default_text)
        buf_printf(out, "| `%s` | `%s` | ", row->name, row->default_text);
    else
        buf_printf(out, "| `%s` | | ", row->name);
    write_cell(expected.data, out);
    buf_putc(out, ' ');
    write_cell(row->flags & KEY_RELOADABLE ? "yes" : "", out);
    buf_putc(out, ' ');
    write_cell(row->help, out);
    buf_putc(out, '\n');
    buf_fini(&expected);
}

static void write_names(const struct original_row *rows, size_t count, size_t first, struct buf *out)
{
    for (size_t i = first; i < count; i++) {
        if (rows[i].fate == rows[first].fate && !strcmp(rows[i].reason, rows[first].reason))
            buf_printf(out, "%s`%s%s`", i == first ? "" : ", ", rows[i].name,
                       rows[i].name[strlen(rows[i].name) - 1] == '.' ? "*" : "");
    }
}

/* One row for each reason, with all keys that have it. */
static void write_original(enum original_fate fate, struct buf *out)
{
    size_t count;
    const struct original_row *rows = original_get_rows(&count);

    for (size_t i = 0; i < count; i++) {
        bool is_told = rows[i].fate != fate;

        for (size_t k = 0; k < i && !is_told; k++)
            is_told = rows[k].fate == fate && !strcmp(rows[k].reason, rows[i].reason);
        if (is_told)
            continue;
        buf_puts(out, "| ");
        write_names(rows, count, i, out);
        buf_puts(out, " | ");
        write_cell(rows[i].reason, out);
        buf_putc(out, '\n');
    }
}

static void write_aliases(struct buf *out)
{
    size_t count;
    const struct original_row *rows = original_get_rows(&count);

    for (size_t i = 0; i < count; i++) {
        if (rows[i].fate == ORIGINAL_ALIAS)
            buf_printf(out, "\n`%s` is `%s`.", rows[i].name, rows[i].reason);
    }
}

void config_write_docs(struct buf *out)
{
    buf_puts(
        out,
        "# Configuration\n"
        "\n"
        "<!-- Written by: shardwheel --help-config=markdown > docs/configuration.md -->\n"
        "\n"
        "This page is for administrators: where configuration values come from, and all keys.\n"
        "\n"
        "## Where values come from\n"
        "\n"
        "If a key is set more than once, the later one in this list counts:\n"
        "\n"
        "1. the default;\n"
        "2. properties files: the files given with `--config FILE`, in their order. Without it "
        "`./application.properties`, then\n"
        "   `./config/application.properties`, if they exist. Spring's names for files work too: see *Files* below;\n"
        "3. files with one key each, mainly for secrets: see *Secrets in files* below;\n"
        "4. environment variables: the key in upper case, with an underscore for each dot, and one or none for each "
        "hyphen:\n"
        "   `SPRING_DATASOURCE_URL`, `XXL_JOB_ACCESSTOKEN`, `SHARDWHEEL_LOCK_MAX_HOLD`;\n"
        "5. the command line: `--server.port=8080`.\n"
        "\n"
        "Case, hyphens and underscores in a key are ignored: `xxl.job.access-token` is `xxl.job.accessToken`. Files "
        "are Java\n"
        "properties files in UTF-8. Values can have placeholders, `${NAME}` or `${NAME:default}`. NAME is another key, "
        "an\n"
        "environment variable, or a key of any name that is used only in placeholders.\n"
        "\n"
        "A value that is not allowed is an error: the program does not start, and prints the file and line (or the "
        "variable or\n"
        "argument). An unknown key is an error too; the most similar known key is printed. Keys of Spring and xxl-job "
        "are never\n"
        "an error (see *Other keys*), unless they look like a misspelled key of this page. An environment variable "
        "that begins\n"
        "with `SHARDWHEEL_` and sets no key is an error, except those that Kubernetes sets for a Service of that name. "
        "The\n"
        "configuration and its sources are logged at start, without passwords and tokens.\n"
        "\n"
        "SIGHUP reads everything again. Keys marked *reload* take effect immediately. Changes of other keys are logged "
        "and take\n"
        "effect after a restart. A file with an error has no effect.\n"
        "\n"
        "## Keys\n");
    for (size_t i = 0; i < KEY_COUNT; i++) {
        write_section_title(i, "\n### ", "\n\n| key | default | value | reload | meaning |\n|---|---|---|---|---|\n",
                            out);
        write_table_row(&key_rows[i], out);
    }
    buf_puts(out, "\n"
                  "## The JDBC URL\n"
                  "\n"
                  "`jdbc:mysql://HOST:PORT/DATABASE?PARAMETERS`, or the same with `jdbc:mariadb`. The default port is "
                  "3306. An IPv6 address\n"
                  "is in brackets. Several hosts are used in their order: all nodes connect to the first one that "
                  "accepts writes, and to\n"
                  "the next one when it is unavailable; see [databases.md](databases.md). `jdbc:mysql:replication://`, "
                  "`:loadbalance://`,\n"
                  "`:failover://` and `:sequential://` mean the same list. `&amp;` and `\\&` mean `&`; `%XX` is "
                  "decoded, a plus stays a plus.\n"
                  "`jdbc:mysql+srv` and `jdbc:mariadb:aurora`, with which a driver discovers servers, are errors: list "
                  "the servers.\n"
                  "\n"
                  "| parameter | meaning |\n"
                  "|---|---|\n"
                  "| `serverTimezone`, `connectionTimeZone` | time zone of DATETIME columns; not set or `LOCAL`: that "
                  "of the process; `SERVER`: that of the server |\n"
                  "| `preserveInstants` | `false`: the time zone above is not used |\n"
                  "| `sslMode` | `DISABLED`, `PREFERRED` (the default), `REQUIRED`, `VERIFY_CA`, `VERIFY_IDENTITY` |\n"
                  "| `useSSL`, `requireSSL`, `verifyServerCertificate` | older form; `sslMode` overrides them |\n"
                  "| `serverSslCert` | PEM file with the certificates to trust |\n"
                  "| `localSocketAddress`, `localSocket` | unix socket to use instead of the host |\n"
                  "| `connectTimeout`, `socketTimeout` | milliseconds; 0: no limit by the URL |\n"
                  "| `user`, `password` | used if `spring.datasource.username` and `.password` are empty |\n"
                  "\n"
                  "Other parameters are ignored. Parameters that no driver knows are listed in the log at start.\n"
                  "\n"
                  "## Files\n"
                  "\n"
                  "Only on the command line or in the environment, except for the profile. Paths are separated by "
                  "commas. Each is a file,\n"
                  "or a folder with `application.properties`. It can begin with `file:`. It must exist, unless it "
                  "begins with `optional:`.\n"
                  "YAML files are not read.\n"
                  "\n"
                  "| key | meaning |\n"
                  "|---|---|\n");
    write_original(ORIGINAL_LOADER, out);
    buf_puts(
        out,
        "\n"
        "## Secrets in files\n"
        "\n"
        "A folder can have one file per key: the file name is the key, the content is the value. Docker, Kubernetes "
        "and systemd\n"
        "pass secrets in this way. It works for every key. The value is used unchanged, without placeholders and "
        "escapes; one\n"
        "line end at its end is removed. Placeholders in other values can name such a file, whatever its name is.\n"
        "\n"
        "| folder | when it is read |\n"
        "|---|---|\n"
        "| `spring.config.import=configtree:/run/secrets/` | set in a properties file, it overrides this file; set in "
        "the environment or on the command line, it overrides all files. Several folders are separated by commas. A "
        "folder with `optional:configtree:` need not exist. `DIR/a/b` is the key `a.b` |\n"
        "| `$CREDENTIALS_DIRECTORY` | always: what systemd passes with `LoadCredential`. The names are "
        "`shardwheel_KEY`, as in the units of the packages (from /etc/shardwheel/secrets), or KEY. Other names are "
        "ignored |\n"
        "| `secrets` next to a file of `--config` | if there are no credentials of systemd, so that shardwheelctl and "
        "manually started nodes use the same secrets. A folder that the user cannot read causes a warning |\n"
        "\n"
        "File names that begin with a dot are ignored. A file whose name is not a key is logged and ignored. A file "
        "for a key is\n"
        "an error if it has more than 64 KiB, several lines (except for `shardwheel.alarm.text` and `.channels`), a "
        "NUL byte, or\n"
        "text that is not UTF-8, or if it cannot be read. There is a warning for a secret that every user of the "
        "machine can\n"
        "read, except in /run/secrets and in the folders of Kubernetes and systemd. SIGHUP reads the files again, "
        "except those of\n"
        "systemd, which need a restart.\n");
    buf_puts(out, "\n"
                  "## Other keys\n"
                  "\n"
                  "Keys of xxl-job and Spring. Other names of keys above; if both are set, the later one counts:");
    write_aliases(out);
    buf_puts(out, "\n\n"
                  "These have no effect. Each one that is set is listed once in the log at start:\n"
                  "\n"
                  "| key | why |\n"
                  "|---|---|\n");
    write_original(ORIGINAL_IGNORED, out);
    write_original(ORIGINAL_PRESUMED, out);
    buf_puts(out, "\n"
                  "These have no effect either, but you may expect one: there is a warning for each:\n"
                  "\n"
                  "| key | why |\n"
                  "|---|---|\n");
    write_original(ORIGINAL_WARNED, out);
    buf_puts(out, "\n"
                  "These are errors; `server.ssl.*` only if `server.ssl.enabled` is not `false`:\n"
                  "\n"
                  "| key | instead |\n"
                  "|---|---|\n");
    write_original(ORIGINAL_REFUSED, out);
}

void config_write_help(enum config_format format, struct buf *out)
{
    switch (format) {
    case CONFIG_FORMAT_TEXT: write_text(out); break;
    case CONFIG_FORMAT_PROPERTIES: write_properties(out); break;
    case CONFIG_FORMAT_MARKDOWN: config_write_docs(out); break;
    }
}
