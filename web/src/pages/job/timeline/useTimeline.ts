// SPDX-License-Identifier: MIT
/**
 * useTimeline: the view of a job's timeline and what the server knows of it. The view is in the address bar: `span`
 * while it follows the clock, `from` and `to` where one has gone elsewhere. It moves at once; the server is asked when it
 * rests.
 */
import { useQuery } from '@tanstack/vue-query'
import { computed, onScopeDispose, ref, watch } from 'vue'
import { useRoute, useRouter } from 'vue-router'
import { api, ask } from '@/api/client'
import { POLL } from '@/api/query'
import { liveView, SPANS, SPAN_START, type View } from '@/model/timeline'

export type SpanName = keyof typeof SPANS
const REST_MS = 250

function isSpan(name: unknown): name is SpanName {
  return typeof name === 'string' && name in SPANS
}

export function useTimeline(jobId: () => number) {
  const route = useRoute()
  const router = useRouter()
  const home = route.name

  function readQuery(): { view: View; live: boolean } {
    const from = Date.parse(String(route.query.from ?? ''))
    const to = Date.parse(String(route.query.to ?? ''))
    if (from < to) return { view: { from, to }, live: false }
    const span = isSpan(route.query.span) ? SPANS[route.query.span] : SPAN_START
    return { view: liveView(Date.now(), span), live: true }
  }

  const start = readQuery()
  const view = ref<View>(start.view)
  const live = ref(start.live)
  const asked = ref<View>(start.view)
  let timer: ReturnType<typeof setTimeout> | undefined

  function writeQuery(): void {
    if (route.name !== home) return
    const rest = { ...route.query }
    for (const name of ['from', 'to', 'span']) delete rest[name]
    const span = view.value.to - view.value.from
    const name = (Object.keys(SPANS) as SpanName[]).find((n) => SPANS[n] === span)
    const own = live.value
      ? name && span !== SPAN_START
        ? { span: name }
        : {}
      : { from: new Date(view.value.from).toISOString(), to: new Date(view.value.to).toISOString() }
    void router.replace({ params: route.params, query: { ...rest, ...own } })
  }

  function rest(): void {
    clearTimeout(timer)
    timer = setTimeout(() => {
      asked.value = view.value
      writeQuery()
    }, REST_MS)
  }
  onScopeDispose(() => clearTimeout(timer))

  /** Where its end is beyond now, it follows the clock. */
  function move(next: View): void {
    const span = next.to - next.from
    view.value = next
    live.value = next.to >= liveView(Date.now(), span).to - 1000
    rest()
  }

  function follow(span: number): void {
    live.value = true
    view.value = asked.value = liveView(Date.now(), span)
    writeQuery()
  }

  const query = useQuery({
    queryKey: computed(() => {
      const span = asked.value.to - asked.value.from
      return ['job', jobId(), 'timeline', live.value ? `live ${span}` : `${asked.value.from}-${asked.value.to}`]
    }),
    queryFn: ({ signal }) => {
      const v = live.value ? liveView(Date.now(), asked.value.to - asked.value.from) : asked.value
      const range = { from: new Date(v.from).toISOString(), to: new Date(v.to).toISOString() }
      return ask(() =>
        api.GET('/api/v1/jobs/{id}/timeline', { params: { path: { id: jobId() }, query: range }, signal }),
      )
    },
    refetchInterval: () => (live.value ? POLL.slow : false),
    placeholderData: (before) => (before?.job === jobId() ? before : undefined),
  })

  // A poll brings the view along; what somebody looks at elsewhere stays.
  watch(query.data, (data) => {
    if (!data || !live.value || query.isPlaceholderData.value) return
    const [from, to] = [Date.parse(data.from), Date.parse(data.to)]
    if (to - from === view.value.to - view.value.from) view.value = { from, to }
  })
  watch(
    () => [jobId(), route.query.from, route.query.to, route.query.span],
    ([id], [before]) => {
      if (route.name !== home) return
      const next = readQuery()
      const same = next.live === live.value && (next.live || (next.view.from === view.value.from && next.view.to === view.value.to))
      const span = (v: View) => v.to - v.from
      if (id === before && same && span(next.view) === span(view.value)) return
      if (id === before && timer !== undefined && live.value && next.live) return
      view.value = asked.value = next.view
      live.value = next.live
    },
  )

  return { view, live, query, move, follow }
}
