// SPDX-License-Identifier: MIT
/** data: what the dashboard asks for. Polls stop in hidden tabs. */
import { computed, type Ref } from 'vue'
import { useQuery } from '@tanstack/vue-query'
import { hourOf, rangeOf, SPANS, type SpanName } from './strip'
import { api, ask } from '@/api/client'
import { POLL } from '@/api/query'
import { can, useSession } from '@/composables/session'

export function useOverview() {
  return useQuery({
    queryKey: ['overview'],
    queryFn: ({ signal }) => ask(() => api.GET('/api/v1/overview', { signal })),
    refetchInterval: POLL.list,
  })
}

export function useHealth() {
  return useQuery({
    queryKey: ['health'],
    queryFn: ({ signal }) => ask(() => api.GET('/api/v1/health', { signal })),
    refetchInterval: POLL.slow,
  })
}

/** A page of the flows: how many there are, at least. */
export function useFlows() {
  return useQuery({
    queryKey: ['flows', 'count'],
    queryFn: ({ signal }) => ask(() => api.GET('/api/v1/flows', { params: { query: { limit: 100 } }, signal })),
    staleTime: 60_000,
  })
}

/** Administrators see which secrets everybody knows. */
export function useWeakSecrets() {
  const { isAdmin } = useSession()
  return useQuery({
    queryKey: ['settings', 'weak'],
    queryFn: ({ signal }) => ask(() => api.GET('/api/v1/settings/weak', { signal })),
    refetchInterval: POLL.slow,
    enabled: isAdmin,
  })
}

/** The strip, and the chart of the same time. */
export function useMinutes(span: Ref<SpanName>) {
  return useQuery({
    queryKey: computed(() => ['minutes', span.value]),
    queryFn: ({ signal }) => {
      const query = { ...rangeOf(span.value, Date.now()), step: SPANS[span.value].step }
      return ask(() => api.GET('/api/v1/history/minutes', { params: { query }, signal }))
    },
    refetchInterval: POLL.slow,
    placeholderData: (before) => before,
  })
}

/** The last hour minute by minute, and the one before it. */
export function useHours() {
  return useQuery({
    queryKey: ['minutes', 'hours'],
    queryFn: async ({ signal }) => {
      const now = Date.now()
      const load = (ago: number) => {
        const query = { ...hourOf(now, ago), step: 'minute' as const }
        return ask(() => api.GET('/api/v1/history/minutes', { params: { query }, signal }))
      }
      const [last, before] = await Promise.all([load(0), load(1)])
      return { last, before }
    },
    refetchInterval: POLL.slow,
  })
}

/** Who sees all groups sees the cluster. */
export function useClusterView() {
  const { user } = useSession()
  const sees = computed(() => can('read') && (user.value?.role === 'admin' || user.value?.groups === null))
  const shards = useQuery({
    queryKey: ['shards'],
    queryFn: ({ signal }) => ask(() => api.GET('/api/v1/shards', { signal })),
    refetchInterval: POLL.list,
    enabled: sees,
  })
  const nodes = useQuery({
    queryKey: ['nodes'],
    queryFn: ({ signal }) => ask(() => api.GET('/api/v1/nodes', { signal })),
    refetchInterval: POLL.list,
    enabled: sees,
  })
  return { sees, shards, nodes }
}
