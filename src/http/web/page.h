/* SPDX-License-Identifier: MIT */
/*
 * page: the console's one page, for each of its addresses: the router in it shows what the address asks for, and asks
 * api/v1 for it. So it is for anybody, and the same for all but for its base and its nonce.
 *
 * Base        Links of the page are relative to it: see route_put_base.
 * Nonce       Styles that the page makes itself have it; another one in each answer, so that nobody can know it before.
 * Threads     Any; never waits.
 */
#ifndef HTTP_WEB_PAGE_H
#define HTTP_WEB_PAGE_H

#include "http/router.h"

void web_write_page(const struct route_call *call, struct http_response *r);
/* A file at the top of the built console, by the path that was asked for: the icon. */
void web_write_icon(const struct route_call *call, struct http_response *r);

#endif
