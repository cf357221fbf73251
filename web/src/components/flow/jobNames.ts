// SPDX-License-Identifier: MIT
/** jobNames: how the jobs of a flow's steps are called, for those that the user may see. */
import { useQueries } from '@tanstack/vue-query'
import { computed } from 'vue'
import { api, ask } from '@/api/client'
import type { Step } from '@/model/flow/document'

/** So many are asked for; the others are shown by their number. */
const MOST = 60

export function useJobNames(steps: () => readonly Step[]) {
  const ids = computed(() => [...new Set(steps().flatMap((s) => (typeof s.jobId === 'number' ? [s.jobId] : [])))].slice(0, MOST))
  const found = useQueries({
    queries: computed(() =>
      ids.value.map((id) => ({
        queryKey: ['job', id, 'name'],
        queryFn: () => ask(() => api.GET('/api/v1/jobs/{id}', { params: { path: { id } } })),
        staleTime: 60_000,
        retry: false,
      })),
    ),
  })
  return computed(() => {
    const names = new Map(found.value.flatMap((q) => (q.data ? [[q.data.id, q.data.name ?? ''] as const] : [])))
    return (id: number) => names.get(id)
  })
}
