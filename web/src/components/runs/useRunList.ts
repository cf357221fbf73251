// SPDX-License-Identifier: MIT
/**
 * useRunList: runs of a filter in keyset pages, with a light poll beside it that is cheap in a log of any size. What it
 * finds waits until one asks for it (see live.ts).
 */
import { useInfiniteQuery, useQuery, useQueryClient, type InfiniteData } from '@tanstack/vue-query'
import { computed } from 'vue'
import { adopt, mergeLive, planPoll, type Polled } from './live'
import type { Run } from './length'
import { api, ApiError, ask, type Schemas } from '@/api/client'
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

  /** What is gone meanwhile is left out. */
  async function loadOne(id: number, signal: AbortSignal): Promise<Run[]> {
    try {
      return [await ask(() => api.GET('/api/v1/runs/{id}', { params: { path: { id } }, signal }))]
    } catch (e) {
      if (e instanceof ApiError && e.status === 404) return []
      throw e
    }
  }

  async function poll(signal: AbortSignal): Promise<Polled<Run>> {
    const span = spanNow()
    const plan = planPoll(shown.value, PAGE, query.dataUpdatedAt.value, (r) => !isOver(r))
    const from = span.from && span.from > plan.from ? span.from : plan.from
    const older = (await Promise.all(plan.older.map((id) => loadOne(id, signal)))).flat()
    if (span.to && span.to < from) return { rows: [], complete: false, from, older }
    const page = await load({ limit: LIVE, from }, signal)
    return { rows: page.items, complete: page.next === null, from, older }
  }

  const live = useQuery({
    queryKey: computed(() => ['runs', 'live', filter()]),
    queryFn: ({ signal }) => poll(signal),
    refetchInterval: () => (shown.value.some((r) => !isOver(r)) ? POLL.live : POLL.list),
    enabled: () => query.isSuccess.value && !query.isPlaceholderData.value,
    retry: false,
  })
  const matches = (run: Run) => {
    const states = filter().result
    return !states || states.split(',').includes(run.state)
  }
  const merged = computed(() =>
    mergeLive(shown.value, query.isPlaceholderData.value ? undefined : live.data.value, matches),
  )

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
      const isEstimate = page.totalIsEstimate ?? false
      // Of a filter whose count took too long only those are known that were seen.
      const all = Object.values(asked()).every((v) => v === undefined)
      return { total: isEstimate && !all ? Math.max(shown.value.length, page.total ?? 0) : (page.total ?? 0), isEstimate, all }
    },
  }
}
