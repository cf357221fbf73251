// SPDX-License-Identifier: MIT
/**
 * pages: a list in keyset pages. The first page is polled; what one has loaded beyond it stays until the filters change.
 *
 *   const list = usePages({
 *     key: () => ['runs', filters.values.value],
 *     load: (after, signal) => ask(() => api.GET('/api/v1/runs', { params: { query: { after } }, signal })),
 *     poll: POLL.list,
 *   })
 *   list.items, list.more (function or undefined), list.query (for StateView)
 */
import { useInfiniteQuery } from '@tanstack/vue-query'
import { computed } from 'vue'

interface Page<T> {
  items: T[]
  next: string | null
}

interface Options<P extends Page<unknown>> {
  key: () => unknown[]
  load: (after: string | undefined, signal: AbortSignal) => Promise<P>
  /** Milliseconds. Lists of several pages are not polled: they would move under the reader. */
  poll?: number
  enabled?: () => boolean
}

export function usePages<P extends Page<unknown>>(options: Options<P>) {
  const query = useInfiniteQuery({
    queryKey: computed(options.key),
    queryFn: ({ pageParam, signal }) => options.load(pageParam, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last: P) => last.next ?? undefined,
    refetchInterval: (q) => ((q.state.data?.pages.length ?? 0) > 1 ? false : (options.poll ?? false)),
    placeholderData: (before) => before,
    enabled: options.enabled,
  })
  const pages = computed(() => query.data.value?.pages ?? [])
  return {
    query,
    items: computed<P['items'][number][]>(() => pages.value.flatMap((p) => p.items)),
    /** The first page: totals and what else it says. */
    first: computed(() => pages.value[0]),
    more: computed(() => (query.hasNextPage.value ? () => void query.fetchNextPage() : undefined)),
    isLoadingMore: query.isFetchingNextPage,
  }
}
