// SPDX-License-Identifier: MIT
/** groups: the executor groups that the user may see, by id: for names in lists and for choosing one. */
import { useQuery } from '@tanstack/vue-query'
import { computed } from 'vue'
import { api, ask, type Schemas } from '@/api/client'

const MOST = 500

export async function loadGroups(): Promise<Schemas['Group'][]> {
  const items: Schemas['Group'][] = []
  let after: string | undefined
  do {
    const page = await ask(() => api.GET('/api/v1/groups', { params: { query: { limit: MOST, after } } }))
    items.push(...page.items)
    after = page.next ?? undefined
  } while (after !== undefined && items.length < 20 * MOST)
  return items
}

export function useGroups() {
  const query = useQuery({ queryKey: ['groups', 'all'], queryFn: loadGroups, staleTime: 30_000 })
  const groups = computed(() => query.data.value ?? [])
  const byId = computed(() => new Map(groups.value.map((g) => [g.id, g])))
  return {
    query,
    groups,
    /** Its title, or #id where it is not known. */
    titleOf: (id: number) => byId.value.get(id)?.title ?? `#${id}`,
    byId,
  }
}
