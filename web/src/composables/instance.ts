// SPDX-License-Identifier: MIT
/** instance: the node that answers: its version, its zones. */
import { useQuery } from '@tanstack/vue-query'
import { api, ask } from '@/api/client'

export function useInstance() {
  return useQuery({
    queryKey: ['instance'],
    queryFn: () => ask(() => api.GET('/api/v1/instance')),
    staleTime: 60_000,
  })
}
