// SPDX-License-Identifier: MIT
/** useSchedule: what the server says of a schedule while it is typed: whether it is right, and when it fires next. */
import { useQuery } from '@tanstack/vue-query'
import { computed, onScopeDispose, ref, watch } from 'vue'
import { confOf, type JobForm } from './form'
import { api, ask, type Schemas } from '@/api/client'

export interface Asked {
  type: string
  conf: string
  zone: string
  /** Not before it; empty: from now on. */
  from: string
}

export interface Verdict extends Asked {
  verdict: Schemas['ScheduleVerdict']
  times: string[]
}

export function scheduleOf(form: JobForm): Asked {
  return { type: form.scheduleType, conf: confOf(form), zone: form.timeZone, from: form.validFrom }
}

const WAIT_MS = 250
const COUNT = 10

async function judgeSchedule(asked: Asked): Promise<Verdict> {
  const scheduleType = asked.type === 'FIX_DELAY' ? 'FIX_RATE' : asked.type
  const body = { scheduleType, scheduleConf: asked.conf, ...(asked.zone ? { zone: asked.zone } : {}) }
  const verdict = await ask(() => api.POST('/api/v1/schedule/validate', { body }))
  if (!verdict.ok || !verdict.nextFireAt || asked.type === 'FIX_DELAY') return { ...asked, verdict, times: [] }
  const next = await ask(() => api.POST('/api/v1/schedule/next', { body: { ...body, ...(asked.from ? { from: asked.from } : {}), count: COUNT } }))
  return { ...asked, verdict, times: next.items }
}

export function useSchedule(wanted: () => Asked) {
  const asked = ref(wanted())
  let timer: ReturnType<typeof setTimeout> | undefined
  watch(wanted, (next) => {
    const { type, conf, zone, from } = asked.value
    if (next.type === type && next.conf === conf && next.zone === zone && next.from === from) return
    clearTimeout(timer)
    timer = setTimeout(() => (asked.value = next), WAIT_MS)
  })
  onScopeDispose(() => clearTimeout(timer))

  return useQuery({
    queryKey: computed(() => ['schedule', ...Object.values(asked.value)]),
    queryFn: () => judgeSchedule(asked.value),
    enabled: computed(() => asked.value.conf !== '' && asked.value.type !== 'NONE'),
    placeholderData: (before: Verdict | undefined) => before,
    staleTime: 10_000,
    gcTime: 60_000,
  })
}
