/* SPDX-License-Identifier: MIT */
/* Jobs that are their own descendants: pure. */
#include "ctl/doctor/children.h"

#include <stdlib.h>
#include <string.h>

/* Tarjan's algorithm for strongly connected components, with a stack of its own in the place of calls. */
struct visit {
    size_t *first_edge;     /* of each job; one more at the end */
    size_t *index, *lowest; /* 0: not seen yet */
    size_t *edge;           /* of each job the one to go along next */
    size_t *path, *open;    /* jobs on the way here; jobs whose component is not known yet */
    bool *is_open;
    size_t path_count, open_count, seen;
};

COMPARE_BY_TWO(compare_edges, struct family_edge, parent, child)

static void enter(struct visit *v, size_t job)
{
    v->index[job] = v->lowest[job] = ++v->seen;
    v->edge[job] = v->first_edge[job];
    v->path[v->path_count++] = job;
    v->open[v->open_count++] = job;
    v->is_open[job] = true;
}

static void leave(struct visit *v, size_t job, bool *is_in_circle)
{
    v->path_count--;
    if (v->path_count && v->lowest[job] < v->lowest[v->path[v->path_count - 1]])
        v->lowest[v->path[v->path_count - 1]] = v->lowest[job];
    if (v->lowest[job] != v->index[job])
        return;
    bool alone = v->open[v->open_count - 1] == job;

    for (;;) {
        size_t member = v->open[--v->open_count];

        v->is_open[member] = false;
        is_in_circle[member] = !alone;
        if (member == job)
            return;
    }
}

static void walk(struct visit *v, const struct family_edge *edges, size_t from, bool *is_in_circle)
{
    enter(v, from);
    while (v->path_count) {
        size_t job = v->path[v->path_count - 1], child;

        if (v->edge[job] == v->first_edge[job + 1]) {
            leave(v, job, is_in_circle);
            continue;
        }
        child = edges[v->edge[job]++].child;
        if (!v->index[child])
            enter(v, child);
        else if (v->is_open[child] && v->index[child] < v->lowest[job])
            v->lowest[job] = v->index[child];
    }
}

enum err children_find_circles(struct family_edge *edges, size_t count, size_t jobs, bool *is_in_circle,
                               struct errctx *ec)
{
    size_t *numbers = calloc(6 * (jobs + 1), sizeof *numbers);
    struct visit v = {.first_edge = numbers, .is_open = calloc(jobs + 1, sizeof *v.is_open)};

    if (!numbers || !v.is_open) {
        free(numbers);
        free(v.is_open);
        return err_set(ec, ERR_NOMEM, "out of memory");
    }
    v.index = numbers + (jobs + 1);
    v.lowest = v.index + (jobs + 1);
    v.edge = v.lowest + (jobs + 1);
    v.path = v.edge + (jobs + 1);
    v.open = v.path + (jobs + 1);
    if (count)
        qsort(edges, count, sizeof *edges, compare_edges);
    for (size_t job = 0, at = 0; job <= jobs; job++) {
        while (at < count && edges[at].parent < job)
            at++;
        v.first_edge[job] = at;
    }
    memset(is_in_circle, 0, jobs * sizeof *is_in_circle);
    for (size_t i = 0; i < count; i++) {
        if (!v.index[edges[i].parent])
            walk(&v, edges, edges[i].parent, is_in_circle);
    }
    free(numbers);
    free(v.is_open);
    return ERR_OK;
}
