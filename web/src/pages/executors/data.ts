// SPDX-License-Identifier: MIT
/** data: what the pages of executors ask for. Polls stop in hidden tabs. */
import { computed } from 'vue'
import { useQuery } from '@tanstack/vue-query'
import type { Figures } from './state'
import { api, ask, type Schemas } from '@/api/client'
import { POLL, queryClient } from '@/api/query'
import { loadGroups } from '@/composables/groups'

const AT_ONCE = 100

/** All that one may see: there are at most some thousands. */
export function useAllGroups() {
  return useQuery({ queryKey: ['groups', 'all'], queryFn: loadGroups, refetchInterval: POLL.slow })
}

async function loadFigures(ids: number[], signal: AbortSignal): Promise<Schemas['GroupFigures']> {
  const parts: Promise<Schemas['GroupFigures']>[] = []
  for (let at = 0; at < ids.length; at += AT_ONCE) {
    const query = { ids: ids.slice(at, at + AT_ONCE).join() }
    parts.push(ask(() => api.GET('/api/v1/groups/figures', { params: { query }, signal })))
  }
  const got = await Promise.all(parts)
  return { items: got.flatMap((p) => p.items), runsAreEstimates: got.some((p) => p.runsAreEstimates) }
}

export function useFigures(ids: () => number[]) {
  const query = useQuery({
    queryKey: computed(() => ['groups', 'figures', ids()]),
    queryFn: ({ signal }) => loadFigures(ids(), signal),
    enabled: () => ids().length > 0,
    refetchInterval: POLL.list,
    placeholderData: (before) => before,
  })
  return {
    byId: computed<Map<number, Figures>>(() => new Map((query.data.value?.items ?? []).map((f) => [f.id, f]))),
    estimate: computed(() => query.data.value?.runsAreEstimates ?? false),
  }
}

export function useGroup(id: () => number) {
  return useQuery({
    queryKey: computed(() => ['groups', 'one', id()]),
    queryFn: ({ signal }) => ask(() => api.GET('/api/v1/groups/{id}', { params: { path: { id: id() } }, signal })),
    refetchInterval: POLL.list,
  })
}

export function useExecutors(id: () => number) {
  return useQuery({
    queryKey: computed(() => ['groups', 'executors', id()]),
    queryFn: ({ signal }) =>
      ask(() => api.GET('/api/v1/groups/{id}/executors', { params: { path: { id: id() } }, signal })),
    refetchInterval: POLL.list,
  })
}

export function refreshGroups(): void {
  void queryClient.invalidateQueries({ queryKey: ['groups'] })
}
