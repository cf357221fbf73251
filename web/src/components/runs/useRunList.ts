// SPDX-License-Identifier: MIT
/**
 * useRunList: runs of a filter in keyset pages, with a light poll beside it: it asks for the time of the first page
 * alone, so that it is cheap in a log of any size. What it finds waits until one asks for it (see live.ts).
 */
import { useInfiniteQuery, useQuery, useQueryClient, type InfiniteData } from '@tanstack/vue-query'
import { computed } from 'vue'
import { adopt, mergeLive, type Polled } from './live'
import type { Run } from './length'
import { api, ask, type Schemas } from '@/api/client'
import { POLL } from '@/api/query'
import { useZone } from '@/composables/zone'
import { isOver } from '@/model/run-words'
import { resolveRange, type Range } from '@/model/ranges'

export interface RunFilter {
  jobId?: number
  jobGroup?: number
  /** States with commas between. */
  result?: string
  late?: boolean
  address?: string
  text?: string
  range?: Range
  from?: string
  to?: string
}

type Page = Schemas['RunPage']
type Data = InfiniteData<Page, string | undefined>

const PAGE = 50
const LIVE = 100
/** How far back a poll looks where no row is shown, in milliseconds. */
const EMPTY_LOOKS_BACK = 600_000

export function useRunList(filter: () => RunFilter) {
  const client = useQueryClient()
  const zone = useZone()
  const key = computed(() => ['runs', 'list', filter()])

  function spanNow() {
    const { range, from, to } = filter()
    return resolveRange(range ?? (from || to ? 'own' : 'any'), { from, to }, Date.now(), zone.value)
  }

  /** The filter as the server takes it: what is empty is left out. */
  function asked() {
    const { jobId, jobGroup, result, late, address, text } = filter()
    const texts = { result: result || undefined, address: address || undefined, text: text || undefined }
    return { jobId, jobGroup, late: late || undefined, ...texts, ...spanNow() }
  }

  function load(more: { after?: string; limit?: number; from?: string }, signal?: AbortSignal): Promise<Page> {
    const query = { ...asked(), limit: PAGE, ...more }
    return ask(() => api.GET('/api/v1/runs', { params: { query }, signal }))
  }

  const query = useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam, signal }) => load({ after: pageParam }, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last: Page) => last.next ?? undefined,
    placeholderData: (before) => before,
    staleTime: Infinity,
    refetchOnWindowFocus: false,
  })
  const pages = computed(() => query.data.value?.pages ?? [])
  const shown = computed<Run[]>(() => pages.value.flatMap((p) => p.items))

  /** From the last row of the first page on; a row without a time is no bound. */
  function liveFrom(): string {
    const span = spanNow()
    const bound = shown.value[Math.min(PAGE, shown.value.length) - 1]?.triggerTime
    const start = bound ?? new Date(query.dataUpdatedAt.value - EMPTY_LOOKS_BACK).toISOString()
    return span.from && span.from > start ? span.from : start
  }

  const live = useQuery({
    queryKey: computed(() => ['runs', 'live', filter()]),
    queryFn: async ({ signal }): Promise<Polled<Run>> => {
      const from = liveFrom()
      const to = spanNow().to
      if (to && to < from) return { rows: [], complete: false, from }
      const page = await load({ limit: LIVE, from }, signal)
      return { rows: page.items, complete: page.next === null, from }
    },
    refetchInterval: () => (shown.value.some((r) => !isOver(r)) ? POLL.live : POLL.list),
    enabled: () => query.isSuccess.value && !query.isPlaceholderData.value,
    retry: false,
  })
  const merged = computed(() => mergeLive(shown.value, query.isPlaceholderData.value ? undefined : live.data.value))

  /** Shows what waits: in its place, or by loading anew where rows between are not known. */
  async function showFresh(): Promise<void> {
    if (merged.value.freshIsMore) {
      client.setQueryData<Data>(key.value, (old) => old && { pages: old.pages.slice(0, 1), pageParams: [undefined] })
      await query.refetch()
      return
    }
    const rows = adopt(merged.value)
    const last = pages.value[pages.value.length - 1]
    if (last) client.setQueryData<Data>(key.value, { pages: [{ ...last, items: rows }], pageParams: [undefined] })
  }

  return {
    query,
    live,
    merged,
    rows: computed(() => merged.value.rows),
    showFresh,
    last: computed(() => pages.value[pages.value.length - 1]),
    more: computed(() => (query.hasNextPage.value ? () => void query.fetchNextPage() : undefined)),
    isLoadingMore: query.isFetchingNextPage,
    isOld: query.isPlaceholderData,
    /** All that the filter finds: asked for only where somebody wants to know. */
    count: async () => {
      const query = { ...asked(), limit: 1, count: true }
      const page = await ask(() => api.GET('/api/v1/runs', { params: { query } }))
      return { total: page.total ?? 0, isEstimate: page.totalIsEstimate ?? false }
    },
  }
}
