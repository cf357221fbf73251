/* SPDX-License-Identifier: MIT */
#include "node/host.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NAME_MAX_LEN 120

enum err host_make_name(const struct config *config, char *out, size_t size, struct errctx *ec)
{
    char host[100] = "node", unique[9];
    enum err e;

    if (config->node_name[0]) {
        if (snprintf(out, size, "%s", config->node_name) > NAME_MAX_LEN)
            return err_set(ec, ERR_INPUT, "shardwheel.node.name has more than %d characters", NAME_MAX_LEN);
        return ERR_OK;
    }
    gethostname(host, sizeof host - 1);
    e = random_hex(unique, 4, ec);
    if (e)
        return e;
    snprintf(out, size, "%.99s:%" PRId64 ":%s", host, config->server_port, unique);
    return ERR_OK;
}

void host_find_ip(char out[HOST_IP_MAX])
{
    struct ifaddrs *list = NULL;

    snprintf(out, HOST_IP_MAX, "127.0.0.1");
    if (getifaddrs(&list) != 0)
        return;
    for (struct ifaddrs *i = list; i; i = i->ifa_next) {
        if (i->ifa_addr && i->ifa_addr->sa_family == AF_INET && !(i->ifa_flags & IFF_LOOPBACK) &&
            (i->ifa_flags & IFF_UP)) {
            inet_ntop(AF_INET, &((struct sockaddr_in *)(void *)i->ifa_addr)->sin_addr, out, HOST_IP_MAX);
            break;
        }
    }
    freeifaddrs(list);
}

/* The name of this machine, if need be in the domain of the certificate. False: it is not good for either. */
static bool find_own_name(struct tls_server *tls, char out[256])
{
    char host[65] = "";
    struct tls_facts facts;
    const char *domain;

    gethostname(host, sizeof host - 1);
    snprintf(out, 256, "%s", host);
    if (*host && tls_server_names_host(tls, out))
        return true;
    tls_server_load_facts(tls, &facts);
    domain = strchr(facts.name, '.');
    snprintf(out, 256, "%.64s%.190s", host, domain ? domain : "");
    return *host && domain && tls_server_names_host(tls, out);
}

void host_make_url(const struct config *config, struct tls_server *tls, const char *ip, int port, char *out,
                   size_t size)
{
    char name[256];
    const char *host = config->http_bind[0] ? config->http_bind : ip;
    const char *colon = strchr(host, ':'); /* IPv6 */

    if (strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0) {
        host = ip;
        colon = NULL;
    }
    if (tls && !tls_server_names_host(tls, host) && find_own_name(tls, name)) {
        host = name;
        colon = NULL;
    }
    snprintf(out, size, "%s://%s%s%s:%d%s", tls ? "https" : "http", colon ? "[" : "", host, colon ? "]" : "", port,
             config->server_context_path);
}
