// SPDX-License-Identifier: MIT
/** useWhy: asks the server about the due times around a time, further and further away until something was due. */
import { keepPreviousData, useQuery } from '@tanstack/vue-query'
import { computed } from 'vue'
import { api, ask, type Schemas } from '@/api/client'
import { answerOf, causeSpan, REACHES, type Answer } from '@/model/why'

export interface Told extends Answer {
  at: number
  /** There are too many due times to be told. */
  tooMany: boolean
  changes: Schemas['AuditRow'][]
  events: Schemas['Event'][]
}

export function loadTimeline(jobId: number, from: number, to: number, signal?: AbortSignal) {
  const query = { from: new Date(from).toISOString(), to: new Date(to).toISOString() }
  return ask(() => api.GET('/api/v1/jobs/{id}/timeline', { params: { path: { id: jobId }, query }, signal }))
}

async function load(jobId: number, at: number, run: number | undefined, signal: AbortSignal): Promise<Told> {
  for (const reach of REACHES) {
    const found = await loadTimeline(jobId, at - reach, at + reach, signal)
    const answer = answerOf(found.items ?? [], at, run)
    const isLast = reach === REACHES[REACHES.length - 1]
    const hasRun = run === undefined || answer.then.some((i) => i.runs.includes(run))
    const isEnough = hasRun && (answer.then.length > 0 || (answer.before.length > 0 && answer.after.length > 0))
    if (found.items && !isEnough && !isLast) continue
    const span = causeSpan(answer, answer.then[0] ? Date.parse(answer.then[0].due) : at)
    const isNear = (from: string, until: string | null) =>
      Date.parse(from) < span.to && Date.parse(until ?? from) >= span.from
    return {
      ...answer,
      at,
      tooMany: found.items === null,
      changes: found.changes.filter((c) => isNear(c.at, null) && c.action !== 'job.trigger').reverse(),
      events: found.events.filter((e) => isNear(e.at, e.until)),
    }
  }
  throw new Error('unreachable')
}

export function useWhy(jobId: () => number, at: () => number | undefined, run: () => number | undefined) {
  return useQuery({
    queryKey: computed(() => ['job', jobId(), 'why', at(), run()]),
    queryFn: ({ signal }) => load(jobId(), at()!, run(), signal),
    enabled: computed(() => at() !== undefined),
    placeholderData: keepPreviousData,
  })
}
