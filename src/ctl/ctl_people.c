/* SPDX-License-Identifier: MIT */
/* Passwords and second factors that were lost. */
#include "ctl/parts.h"

#include "shardwheel/admin/factor.h"
#include "shardwheel/admin/people.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#define LINE_SIZE 1024 /* bytes: no password is so long */

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* One line of stdin without its end. */
static enum err read_line(char out[LINE_SIZE], struct errctx *ec)
{
    size_t len = 0;
    ssize_t n;
    char c;

    while ((n = read(STDIN_FILENO, &c, 1)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set(ec, ERR_IO, "read stdin: %s", strerror(errno));
        if (c == '\n')
            break;
        if (c == '\0')
            return err_set(ec, ERR_INPUT, "the password has a NUL");
        if (len + 1 == LINE_SIZE)
            return err_set(ec, ERR_INPUT, "the password is too long");
        out[len++] = c;
    }
    if (len && out[len - 1] == '\r')
        len--;
    out[len] = '\0';
    return len ? ERR_OK : err_set(ec, ERR_INPUT, "the password is missing");
}

static void ask(const char *what)
{
    fputs(what, stderr);
    fflush(stderr);
}

/* Twice, and not shown. A signal in between leaves the terminal without its echo; so does it with other programs. */
static enum err read_terminal(char out[LINE_SIZE], struct errctx *ec)
{
    char again[LINE_SIZE] = "";
    struct termios before, silent;
    enum err e;

    if (tcgetattr(STDIN_FILENO, &before) != 0)
        return err_set(ec, ERR_IO, "read from the terminal: %s", strerror(errno));
    silent = before;
    silent.c_lflag &= ~(tcflag_t)ECHO;
    if (tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent) != 0)
        return err_set(ec, ERR_IO, "switch the echo of the terminal off: %s", strerror(errno));
    ask("New password: ");
    e = read_line(out, ec);
    ask("\n");
    if (!e) {
        ask("Once more: ");
        e = read_line(again, ec);
        ask("\n");
    }
    if (tcsetattr(STDIN_FILENO, TCSAFLUSH, &before) != 0 && !e)
        e = err_set(ec, ERR_IO, "switch the echo of the terminal on: %s", strerror(errno));
    if (!e && strcmp(out, again) != 0)
        e = err_set(ec, ERR_INPUT, "the two passwords differ: nothing was changed");
    explicit_bzero(again, sizeof again);
    return e;
}

/* ---- set-password ------------------------------------------------------------------------------------------------ */

enum err ctl_set_password(struct ctl *c, struct errctx *ec)
{
    const char *name = c->wanted->words[0];
    char password[LINE_SIZE] = "";
    struct refusal r = {0};
    enum err e = isatty(STDIN_FILENO) ? read_terminal(password, ec) : read_line(password, ec);

    if (!e)
        e = ctl_refused(admin_set_password(c->admin, &ctl_actor, name, password, &r), &r, ec);
    explicit_bzero(password, sizeof password);
    if (!e)
        buf_printf(&c->out, "user %s has the new password; all sessions have ended\n", name);
    return e;
}

/* ---- reset-second-factor ----------------------------------------------------------------------------------------- */

enum err ctl_reset_factor(struct ctl *c, struct errctx *ec)
{
    const char *name = c->wanted->words[0];
    struct refusal r = {0};
    enum err e = ctl_refused(admin_reset_factor(c->admin, &ctl_actor, name, &r), &r, ec);

    if (!e)
        buf_printf(&c->out, "user %s no longer has a second factor\n", name);
    return e;
}
