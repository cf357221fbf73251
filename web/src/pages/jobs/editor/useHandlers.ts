// SPDX-License-Identifier: MIT
/** useHandlers: the handlers that other jobs of a group use, the most used first: what to complete with. */
import { useQuery } from '@tanstack/vue-query'
import { computed } from 'vue'
import { rankHandlers } from './handlers'
import { api, ask } from '@/api/client'

const MOST = 200

export function useHandlers(group: () => number | undefined) {
  const query = useQuery({
    queryKey: computed(() => ['jobs', 'handlers', group()]),
    queryFn: ({ signal }) =>
      ask(() => api.GET('/api/v1/jobs', { params: { query: { group: group(), limit: MOST } }, signal })),
    enabled: computed(() => group() !== undefined),
    staleTime: 60_000,
  })
  return { handlers: computed(() => rankHandlers((query.data.value?.items ?? []).map((j) => j.executorHandler))) }
}
