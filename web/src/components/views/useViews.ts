// SPDX-License-Identifier: MIT
/** useViews: the lists of a page that one has saved by name, and which of them is on screen. */
import { useQuery } from '@tanstack/vue-query'
import { computed } from 'vue'
import { useRoute, useRouter } from 'vue-router'
import { isSameQuery, queryText, readText } from './views'
import { api, ask, type Schemas } from '@/api/client'
import { queryClient } from '@/api/query'

export type View = Schemas['View']
export type ViewPage = View['page']

export function useViews(page: ViewPage) {
  const route = useRoute()
  const router = useRouter()
  const key = ['views', page]
  const query = useQuery({
    queryKey: key,
    queryFn: ({ signal }) => ask(() => api.GET('/api/v1/views', { params: { query: { page } }, signal })),
    staleTime: 60_000,
  })
  const views = computed(() => query.data.value?.items ?? [])
  /** What stands in the address bar now. */
  const shown = computed(() => queryText(route.query))
  const current = computed(() => views.value.find((view) => isSameQuery(view.query, shown.value)))

  async function change(what: () => Promise<unknown>): Promise<void> {
    await what()
    await queryClient.invalidateQueries({ queryKey: key })
  }

  return {
    query,
    views,
    current,
    open: (view: View) => router.push({ query: readText(view.query), hash: '' }),
    save: (name: string) =>
      change(() => ask(() => api.POST('/api/v1/views', { body: { page, name, query: shown.value } }))),
    edit: (id: number, body: { name?: string; query?: string }) =>
      change(() => ask(() => api.PATCH('/api/v1/views/{id}', { params: { path: { id } }, body }))),
    /** It shows from now on what is on screen. */
    replace: (id: number) =>
      change(() =>
        ask(() => api.PATCH('/api/v1/views/{id}', { params: { path: { id } }, body: { query: shown.value } })),
      ),
    remove: (id: number) =>
      change(() => ask(() => api.DELETE('/api/v1/views/{id}', { params: { path: { id } } }))),
  }
}

export type Views = ReturnType<typeof useViews>
