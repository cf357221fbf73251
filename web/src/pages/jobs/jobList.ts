// SPDX-License-Identifier: MIT
/**
 * jobList: the jobs that match, page by page, in an order that holds: what is polled changes rows where they are and
 * never moves them. That the list would be another one now is told (`moved`), and shown when one asks for it.
 */
import { useInfiniteQuery, useQuery } from '@tanstack/vue-query'
import { computed, onScopeDispose, ref, shallowReactive, watch } from 'vue'
import { listQuery, type JobFilters } from './filters'
import { idsToAsk, TICKS, unique, type Job, type Recent } from './row'
import { api, ask } from '@/api/client'
import { POLL, queryClient } from '@/api/query'
import { onJobChanged } from '@/composables/jobActions'
import type { RowWindow } from '@/model/row-window'

const PAGE = 100
/** Who comes back sooner finds the list as it was left; rows on screen are asked for anew all the same. */
const KEPT_MS = 300_000
/** The window must have stood so long before ticks are asked for. */
const REST_MS = 120

export function useJobList(filters: () => JobFilters) {
  const asked = computed(() => listQuery(filters()))
  const fresh = shallowReactive(new Map<number, Job>())

  const query = useInfiniteQuery({
    queryKey: computed(() => ['jobs', 'list', asked.value]),
    queryFn: async ({ pageParam, signal }) => {
      const page = { limit: PAGE, after: pageParam, count: pageParam === undefined }
      const params = { query: { ...asked.value, ...page } }
      const got = await ask(() => api.GET('/api/v1/jobs', { params, signal }))
      for (const job of got.items) fresh.delete(job.id)
      return got
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next ?? undefined,
    placeholderData: (before) => before,
    refetchOnWindowFocus: false,
    staleTime: KEPT_MS,
  })
  const pages = computed(() => query.data.value?.pages ?? [])
  const rows = computed(() => unique(pages.value.flatMap((p) => p.items)).map((job) => fresh.get(job.id) ?? job))
  onScopeDispose(onJobChanged((job) => fresh.set(job.id, job)))

  /** The first page as it is now: news of rows, and whether there are others. */
  const probe = useQuery({
    queryKey: computed(() => ['jobs', 'probe', asked.value]),
    queryFn: ({ signal }) =>
      ask(() => api.GET('/api/v1/jobs', { params: { query: { ...asked.value, limit: PAGE } }, signal })),
    enabled: () => pages.value.length > 0,
    refetchInterval: POLL.slow,
    staleTime: POLL.slow,
  })
  const moved = computed(() => {
    const first = pages.value[0]
    const now = probe.data.value
    if (!first || !now || probe.isPlaceholderData.value || probe.dataUpdatedAt.value < query.dataUpdatedAt.value) return false
    return now.items.map((j) => j.id).join() !== first.items.map((j) => j.id).join()
  })
  watch(probe.data, (page) => {
    if (probe.dataUpdatedAt.value < query.dataUpdatedAt.value) return
    for (const job of page?.items ?? []) fresh.set(job.id, job)
  })

  /** How many rows one has scrolled over: what was loaded behind them is let go when all is asked for anew. */
  const seen = ref(0)

  function refresh(): void {
    fresh.clear()
    const keep = Math.max(1, Math.ceil(seen.value / PAGE))
    queryClient.setQueryData<typeof query.data.value>(['jobs', 'list', asked.value], (now) =>
      now && { pages: now.pages.slice(0, keep), pageParams: now.pageParams.slice(0, keep) },
    )
    void queryClient.resetQueries({ queryKey: ['jobs', 'probe'] })
    void query.refetch()
  }

  return {
    query,
    rows,
    total: computed(() => pages.value[0]?.total),
    isEstimate: computed(() => pages.value[0]?.totalIsEstimate === true),
    /** When the order was read. */
    at: computed(() => query.dataUpdatedAt.value),
    moved,
    seen,
    refresh,
    more: () => {
      if (query.hasNextPage.value && !query.isFetchingNextPage.value) void query.fetchNextPage()
    },
  }
}

/** What the jobs on screen did last and do next; those seen before stay. */
export function useRecent(ids: () => number[], shown: () => RowWindow) {
  const recent = shallowReactive(new Map<number, Recent>())
  const wanted = ref<number[]>([])
  let timer: ReturnType<typeof setTimeout> | undefined

  watch(
    () => idsToAsk(ids(), shown().from, shown().to).join(),
    (list) => {
      clearTimeout(timer)
      timer = setTimeout(() => (wanted.value = list ? list.split(',').map(Number) : []), wanted.value.length ? REST_MS : 0)
    },
    { immediate: true },
  )
  onScopeDispose(() => clearTimeout(timer))

  const query = useQuery({
    queryKey: computed(() => ['recent', wanted.value.join()]),
    queryFn: ({ signal }) => {
      const params = { query: { ids: wanted.value.join(), limit: TICKS } }
      return ask(() => api.GET('/api/v1/jobs/recent', { params, signal }))
    },
    enabled: () => wanted.value.length > 0,
    refetchInterval: POLL.list,
  })
  watch(query.data, (answer) => {
    for (const item of answer?.items ?? []) recent.set(item.jobId, item)
  })
  /** A job was changed here: what was read of it before is old. */
  onScopeDispose(
    onJobChanged((job) => {
      const item = recent.get(job.id)
      if (item) recent.set(job.id, { ...item, running: job.running, nextFireAt: job.nextFireAt })
    }),
  )
  return { recent, isComplete: computed(() => query.data.value?.complete !== false) }
}
