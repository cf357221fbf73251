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
             "A job-scheduling centre on the database and the executors of xxl-job.\n"
             "\n"
             "  (no command)           run a node of the configured database\n"
             "  standalone             run the only node, without ZooKeeper\n"
             "  standalone --data DIR  the same with a private database server that keeps its data in DIR\n"
             "  install-schema         put what is missing into the configured database, then end\n"
             "  ctl COMMAND            show and move what the nodes own: see shardwheel ctl --help\n"
             "\n"
             "  --config FILE          read this properties file; may be given again, later files win. Without it:\n"
             "                         ./application.properties and ./config/application.properties, where there\n"
             "  --KEY=VALUE            set a key, for example --server.port=8080; goes before environment and files\n"
             "  -h, --help             this text\n"
             "  --help-config          every key with default, bounds and meaning;\n"
             "                         =properties as a file to start from, =markdown as a document\n"
             "  --version              the version\n");
}

void config_write_ctl_usage(struct buf *out)
{
    buf_puts(
        out,
        "usage: shardwheelctl COMMAND [--config FILE]... [--KEY=VALUE]...   (or: shardwheel ctl COMMAND ...)\n"
        "\n"
        "Shows and moves what the nodes of a cluster own. It talks to their database alone (kill and log: also to the\n"
        "executor of the run; doctor: also to ZooKeeper and the nodes), with the settings that the nodes have.\n"
        "\n"
        "  shards [--json]              who owns which shard, and how far it is\n"
        "  nodes [--json]               the nodes, and whether they live\n"
        "  drain NODE [--force]         NODE gives its shards to the others and takes none; until it is undrained\n"
        "                               or ends. Refused when no other node lives, unless forced\n"
        "  undrain NODE                 it takes part again\n"
        "  release SHARD                its owner lets it go to another node\n"
        "  reshard N                    the cluster goes over to N shards, 1 to 1024, while its nodes run\n"
        "  reshard cancel               withdraws a change that is not carried out yet\n"
        "  set-zone database ZONE       the cluster's zone of DATETIME columns, when no node runs. Refused while "
        "fires\n"
        "           [--force]           are planned that nodes of another zone would not find, unless forced\n"
        "  set-zone cron ZONE           the cluster's zone of cron expressions, when no node runs\n"
        "  job ID [--json]              a job's schedule, and what is set of it beyond what the original knows\n"
        "  set-job ID --SETTING VALUE... [--json]\n"
        "                               sets it; \"none\" unsets it. SETTING: time-zone, fixed-delay, valid-from,\n"
        "                               valid-until, retry-wait, retry-wait-max, hold, resend-lost, retention-days,\n"
        "                               tags\n"
        "  why JOB [--from TIME]        each of its due times with what became of it, in one sentence; of the last\n"
        "          [--to TIME] [--json] hour. TIME: YYYY-MM-DD HH:MM[:SS], with a Z behind it in UTC\n"
        "  trigger JOB [--param P] [--addresses A] [--at TIME] [--json]\n"
        "                               fires it by hand, now or at a time\n"
        "  doctor [--json] [--verbose]  looks at the whole set-up and says what to change. Status: 0 fine, 1 "
        "warnings,\n"
        "         [--wait S]            2 critical, 3 it could not look; --verbose lists what is fine, too\n"
        "         [--ask-executors]     asks each executor what it is, too\n"
        "  later [--json]               what waits for a time of its own: triggers, retries, fires\n"
        "  cancel-later ID              takes one of those back\n"
        "  going-back [--json]          what a Java admin that takes over will not do\n"
        "  after-restore [--from TIME]  when no node runs on a database that was restored from a backup: what was due\n"
        "        [--ids N] [--dry-run]  since may have run, and is not sent again; lists it. TIME of the backup, if "
        "it\n"
        "        [--force] [--json]     is not that of the newest cursor; N ids of the log are left out\n"
        "  kill ID                      stops the run with that id in xxl_job_log at its executor, with every other\n"
        "                               run of its job there\n"
        "  log ID [--follow]            what that run has logged, read from its executor; until it has ended\n"
        "  alarm-test [--json]          a message of test to every channel of alarms, and whether it took it.\n"
        "           [--group APP]       Only to those that serve that executor group\n"
        "\n"
        "  --wait S                     seconds to wait for the outcome: drain, release and doctor 30, reshard 60\n"
        "  --data DIR                   the database of a node that runs as: shardwheel standalone --data DIR\n"
        "\n"
        "NODE is a node's name or incarnation, or the beginning of one. Status: 0 done, 1 not done, 2 wrong usage.\n");
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
    buf_puts(&expected, row->flags & KEY_LENIENT ? "; anything beyond counts as the default." : ".");
    if (row->flags & KEY_RELOADABLE)
        buf_puts(&expected, " A reload takes it over.");
    if (buf_failed(&expected))
        out->failed = true;
    else
        text_put_wrapped(out, prefix, expected.data, WIDTH);
    buf_fini(&expected);
}

static void write_text(struct buf *out)
{
    buf_puts(out, "Every key with its default. Set it in a properties file, as --KEY=VALUE, or in the environment in\n"
                  "upper case with underscores (SERVER_PORT).\n");
    for (size_t i = 0; i < KEY_COUNT; i++) {
        write_section_title(i, "\n== ", " ==\n\n", out);
        buf_printf(out, "%s=%s\n", key_rows[i].name, key_rows[i].default_text);
        write_key(&key_rows[i], "        ", out);
    }
}

static void write_properties(struct buf *out)
{
    buf_puts(out, "# Configuration of shardwheel. Every key is here with its default; take the # away to set one.\n"
                  "# Made by: shardwheel --help-config=properties\n");
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
        buf_puts(&expected, "; anything beyond counts as the default");
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

static void write_original(enum original_fate fate, struct buf *out)
{
    size_t count;
    const struct original_row *rows = original_get_rows(&count);

    for (size_t i = 0; i < count; i++) {
        size_t len = strlen(rows[i].name);

        if (rows[i].fate != fate)
            continue;
        buf_printf(out, "| `%s%s` | ", rows[i].name, rows[i].name[len - 1] == '.' ? "*" : "");
        write_cell(rows[i].reason, out);
        buf_putc(out, '\n');
    }
}

void config_write_docs(struct buf *out)
{
    buf_puts(
        out,
        "# Configuration\n"
        "\n"
        "<!-- Made from the table of keys: shardwheel --help-config=markdown > docs/configuration.md -->\n"
        "\n"
        "## Where values come from\n"
        "\n"
        "Later wins:\n"
        "\n"
        "1. the default;\n"
        "2. properties files: those of `--config FILE` in their order; without it `./application.properties`, then\n"
        "   `./config/application.properties`, where they are there. Spring's own names work too: see *Files* below;\n"
        "3. files of one key each, above all for secrets: see *Secrets in files* below;\n"
        "4. the environment: the key in upper case, with an underscore for each dot and for each dash one or none, as "
        "in\n"
        "   `SPRING_DATASOURCE_URL`, `XXL_JOB_ACCESSTOKEN`, `SHARDWHEEL_LOCK_MAX_HOLD`;\n"
        "5. the command line: `--server.port=8080`.\n"
        "\n"
        "Case, dashes and underscores in a key do not count: `xxl.job.access-token` is `xxl.job.accessToken`. Files "
        "have the\n"
        "form of Java's properties files and are read as UTF-8. Values may hold placeholders: `${NAME}` or\n"
        "`${NAME:default}`, where NAME is another key or a variable of the environment; a key that only placeholders "
        "name\n"
        "may have any name.\n"
        "\n"
        "A value that is not as expected is an error: the program does not start, and says in which file and line (or\n"
        "variable, or argument) it stands. So is a key that nobody knows, and a misspelt one: the nearest that there "
        "is is\n"
        "named. Keys of Spring and of the original never stop the start, known or not (see *Keys of others*), unless "
        "they\n"
        "look like a misspelt key of this page. A variable that begins with `SHARDWHEEL_` and sets no key is an error "
        "as\n"
        "well; those that Kubernetes makes for a Service of that name are passed over. What is in force is logged at "
        "start,\n"
        "with where it came from; passwords and tokens are not shown.\n"
        "\n"
        "SIGHUP reads everything again. Keys marked in the column *reload* take effect at once; changes of others are "
        "logged\n"
        "and wait for a restart. A file with an error changes nothing.\n"
        "\n"
        "## Keys\n");
    for (size_t i = 0; i < KEY_COUNT; i++) {
        write_section_title(i, "\n### ", "\n\n| key | default | value | reload | meaning |\n|---|---|---|---|---|\n",
                            out);
        write_table_row(&key_rows[i], out);
    }
    buf_puts(
        out,
        "\n"
        "## The JDBC URL\n"
        "\n"
        "`jdbc:mysql://HOST:PORT/DATABASE?PARAMETERS`, or the same with `jdbc:mariadb`. The port is 3306 if left out; "
        "an IPv6 address\n"
        "stands in brackets. Several hosts are candidates in their order: all sessions of all nodes go to one of them, "
        "the first\n"
        "that takes writes, and to the next one when that is gone; see [databases.md](databases.md). Forms of the "
        "drivers such as\n"
        "`jdbc:mysql:replication://`, `:loadbalance://`, `:failover://` and `:sequential://` mean the same list. "
        "`&amp;` and `\\&`\n"
        "count as `&`; `%XX` is decoded, a plus stays a plus. `jdbc:mysql+srv` and `jdbc:mariadb:aurora`, by which the "
        "driver looks\n"
        "for servers itself, are refused: name them.\n"
        "\n"
        "| parameter | meaning |\n"
        "|---|---|\n"
        "| `serverTimezone`, `connectionTimeZone` | zone of DATETIME columns; absent or `LOCAL`: that of the process; "
        "`SERVER`: ask the server |\n"
        "| `preserveInstants` | `false`: the zone above is not used |\n"
        "| `sslMode` | `DISABLED`, `PREFERRED` (the default), `REQUIRED`, `VERIFY_CA`, `VERIFY_IDENTITY` |\n"
        "| `useSSL`, `requireSSL`, `verifyServerCertificate` | the older way to say it; `sslMode` goes before them |\n"
        "| `serverSslCert` | file with the certificates to trust, PEM |\n"
        "| `localSocketAddress`, `localSocket` | unix socket to use instead of the host |\n"
        "| `connectTimeout`, `socketTimeout` | milliseconds; 0: not limited by the URL |\n"
        "| `user`, `password` | used where `spring.datasource.username` and `.password` are empty |\n"
        "\n"
        "Other parameters are ignored; those that are not known as the drivers' own are listed in the log at start.\n"
        "\n"
        "## Files\n"
        "\n"
        "Only on the command line or in the environment, except for the profile. Places are parted by commas; each is "
        "a file\n"
        "or a folder that holds `application.properties`, may begin with `file:`, and must be there unless it begins "
        "with\n"
        "`optional:`. YAML is not read.\n"
        "\n"
        "| key | meaning |\n"
        "|---|---|\n");
    write_original(ORIGINAL_LOADER, out);
    buf_puts(out,
             "\n"
             "## Secrets in files\n"
             "\n"
             "A folder may have one file for each key: its name is the key, its content the value, as Docker, "
             "Kubernetes and\n"
             "systemd hand secrets out. Any key may be given so. The value is taken as it is, without placeholders and "
             "escapes;\n"
             "one end of line at its end goes. Placeholders elsewhere may name such a file, whatever its name.\n"
             "\n"
             "| folder | when |\n"
             "|---|---|\n"
             "| `spring.config.import=configtree:/run/secrets/` | named in a properties file, it overrides this file; "
             "in the environment or on the command line, all files. Several by comma; `optional:configtree:` may be "
             "missing. `DIR/a/b` is `a.b` |\n"
             "| `$CREDENTIALS_DIRECTORY` | read by itself: what systemd hands out by `LoadCredential`. "
             "`shardwheel_KEY`, as the packages' units have it from /etc/shardwheel/secrets, or KEY alone; other names "
             "are not looked at |\n"
             "| `secrets` beside a file of `--config` | read by itself where systemd gives no credentials, so that "
             "shardwheelctl and whoever starts a node by hand have them too. A folder that this user may not read is "
             "warned of and passed over |\n"
             "\n"
             "Names that begin with a dot do not count. A file whose name is no key is named in the log and passed "
             "over. For one that\n"
             "is a key, what is no value stops the start: more than 64 KiB, several lines (but for "
             "`shardwheel.alarm.text` and\n"
             "`.channels`), a NUL byte, what is not UTF-8, what may not be read. A secret that every user of the "
             "machine can read is\n"
             "warned of, but for /run/secrets and the folders of Kubernetes and systemd. SIGHUP reads the files again; "
             "those of systemd\n"
             "change with a restart only.\n");
    buf_puts(out, "\n"
                  "## Keys of others\n"
                  "\n"
                  "Of the original and of Spring. These are other names of keys above; where both are given, the later "
                  "one wins:\n"
                  "\n"
                  "| key | of |\n"
                  "|---|---|\n");
    write_original(ORIGINAL_ALIAS, out);
    buf_puts(out, "\n"
                  "These have no effect here. Each one given is named in the log at start, once:\n"
                  "\n"
                  "| key | why |\n"
                  "|---|---|\n");
    write_original(ORIGINAL_IGNORED, out);
    write_original(ORIGINAL_PRESUMED, out);
    buf_puts(out, "\n"
                  "These have no effect either, which may be something else than was asked for: a warning names them.\n"
                  "\n"
                  "| key | why |\n"
                  "|---|---|\n");
    write_original(ORIGINAL_WARNED, out);
    buf_puts(out, "\n"
                  "These are refused, all of `server.ssl.*` only where `server.ssl.enabled` is not `false`:\n"
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
