// SPDX-License-Identifier: MIT
/**
 * useRunLog: reads the log of a run line by line as long as something may come, and tells why it stopped. Errors are
 * told and tried again; a hidden tab waits.
 */
import { onScopeDispose, ref, shallowRef } from 'vue'
import { pauseAfter, pauseBehindError } from './pace'
import { LogText } from './text'
import { api, ApiError, ask, type Schemas } from '@/api/client'

export type LogEnd = NonNullable<Schemas['RunLog']['reason']>

/** Lines that a browser holds well. */
const MOST = 500_000

export function useRunLog(id: number) {
  const text = new LogText()
  const count = ref(0)
  const end = ref<LogEnd>()
  const trouble = ref<string | null>(null)
  /** When the executor gave the copy that is shown; undefined: it is the executor's own log. */
  const keptAt = ref<string>()
  const isCut = ref(false)
  const error = shallowRef<unknown>()
  /** When it is tried again. */
  const againAt = ref(0)
  const most = ref(MOST)
  const isFull = ref(false)
  let next = 1
  const stop = new AbortController()
  let wake: (() => void) | undefined

  function read(fromLine: number): Promise<Schemas['RunLog']> {
    const params = { path: { id }, query: { fromLine } }
    return ask(() => api.GET('/api/v1/runs/{id}/log', { params, signal: stop.signal }))
  }

  function pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => (document.hidden ? undefined : resolve()), ms)
      wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  function onVisible(): void {
    if (!document.hidden) wake?.()
  }
  document.addEventListener('visibilitychange', onVisible)

  /** How long to wait before more is asked for; undefined: there is no more. */
  async function readOnce(quiet: number): Promise<{ ms: number; got: number } | undefined> {
    const page = await read(next)
    error.value = undefined
    text.append(page.lines)
    next = page.nextLine
    count.value = text.length
    trouble.value = page.trouble
    keptAt.value = page.keptAt ?? undefined
    isCut.value = page.isCut
    if (page.ended) end.value = page.reason ?? 'end'
    if (page.ended) return undefined
    return { ms: pauseAfter(page.lines.length, quiet), got: page.lines.length }
  }

  async function loop(): Promise<void> {
    let quiet = 0
    let failures = 0
    while (!stop.signal.aborted) {
      isFull.value = text.length >= most.value
      if (isFull.value) return
      try {
        const went = await readOnce(quiet)
        if (!went) return
        failures = 0
        quiet = went.got ? 0 : quiet + 1
        if (went.ms) await pause(went.ms)
      } catch (e) {
        if (stop.signal.aborted) return
        error.value = e
        if (e instanceof ApiError && [400, 403, 404].includes(e.status)) return
        const ms = pauseBehindError(++failures)
        againAt.value = Date.now() + ms
        await pause(ms)
      }
    }
  }
  void loop()

  onScopeDispose(() => {
    stop.abort()
    wake?.()
    document.removeEventListener('visibilitychange', onVisible)
  })

  return {
    text,
    count,
    end,
    trouble,
    keptAt,
    isCut,
    error,
    againAt,
    isFull,
    /** At once, in place of waiting. */
    again: () => wake?.(),
    readOn(): void {
      most.value += MOST
      void loop()
    },
    /** All lines that there are now: those that were read, and the rest. */
    async readAll(): Promise<string> {
      const lines = [...text.lines]
      for (let from = next, more = end.value === undefined; more; ) {
        const page = await read(from)
        lines.push(...page.lines)
        more = page.lines.length > 0 && !page.ended
        from = page.nextLine
      }
      return lines.map((line) => `${line}\n`).join('')
    },
  }
}
