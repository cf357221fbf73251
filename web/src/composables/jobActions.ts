// SPDX-License-Identifier: MIT
/**
 * jobActions: start, stop and remove of one job, the same from the list, the job's page and the palette. Nothing is
 * shown as done before the server said so; meanwhile `busy(id)`. What it refused stands in `problemOf(id)` until the
 * next try. Only removing asks first.
 */
import { reactive } from 'vue'
import { api, ask, type Schemas } from '@/api/client'
import { queryClient } from '@/api/query'
import { confirm } from './confirm'
import { translate } from '@/i18n'

export type JobRef = Pick<Schemas['Job'], 'id' | 'name'>
type Listener = (job: Schemas['Job']) => void

const under = reactive(new Map<number, true>())
const problems = reactive(new Map<number, unknown>())
const listeners = new Set<Listener>()

/** Lists hear of a job that was changed here, and show it without asking for all anew. */
export function onJobChanged(listener: Listener): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Everything that shows the job asks anew; lists of many pages are told instead. */
export function tellJobChanged(job: Schemas['Job']): void {
  for (const listener of listeners) listener(job)
  void queryClient.invalidateQueries({ queryKey: ['job', job.id] })
  for (const key of ['overview', 'figures']) void queryClient.invalidateQueries({ queryKey: [key] })
}

async function attempt<T>(id: number, call: () => Promise<T>): Promise<T | undefined> {
  if (under.has(id)) return undefined
  under.set(id, true)
  problems.delete(id)
  try {
    return await call()
  } catch (e) {
    problems.set(id, e)
    return undefined
  } finally {
    under.delete(id)
  }
}

async function startOrStop(job: JobRef, start: boolean): Promise<boolean> {
  const params = { params: { path: { id: job.id } } }
  const now = await attempt(job.id, () =>
    start
      ? ask(() => api.POST('/api/v1/jobs/{id}/start', params))
      : ask(() => api.POST('/api/v1/jobs/{id}/stop', params)),
  )
  if (now) tellJobChanged(now)
  return now !== undefined
}

/** Asks first. True: it is gone. */
async function remove(job: JobRef): Promise<boolean> {
  const title = translate('jobs.remove.title', { name: job.name ?? `#${job.id}` })
  if (!(await confirm(title, translate('jobs.remove.text'), translate('common.remove')))) return false
  const gone = await attempt(job.id, async () => {
    await ask(() => api.DELETE('/api/v1/jobs/{id}', { params: { path: { id: job.id } } }))
    return true
  })
  if (!gone) return false
  queryClient.removeQueries({ queryKey: ['job', job.id] })
  for (const key of ['jobs', 'overview', 'figures', 'runs']) void queryClient.invalidateQueries({ queryKey: [key] })
  return true
}

export function useJobActions() {
  return {
    start: (job: JobRef) => startOrStop(job, true),
    stop: (job: JobRef) => startOrStop(job, false),
    remove,
    busy: (id: number) => under.has(id),
    problemOf: (id: number) => problems.get(id),
    forget: (id: number) => problems.delete(id),
  }
}
