// SPDX-License-Identifier: MIT
/** rank: rows of the short lists of jobs, out of the overview. */
import { toRuns } from './attention'
import type { RankRow } from './JobRank.vue'
import type { Schemas } from '@/api/client'
import { agoText, durationText } from '@/composables/duration'
import { countText } from '@/composables/numbers'
import { translate } from '@/i18n'
import { FAILURES } from '@/model/run-words'

type Overview = Schemas['Overview']
const HOUR = 3_600_000

interface Named {
  jobId: number
  jobName: string | null
  jobGroup: number
  groupTitle: string | null
}

function base(job: Named, key: string) {
  const group = job.groupTitle ?? `#${job.jobGroup}`
  return { key, jobId: job.jobId, name: job.jobName ?? '', title: `#${job.jobId} · ${group}` }
}

/** Failures of the hour where there are any, else of the day. */
export function failingRows(overview: Overview, now: number): RankRow[] {
  return overview.topFailing.items.map((job) => {
    const hour = job.failuresHour > 0
    const n = hour ? job.failuresHour : job.failuresDay
    const since: Record<string, string> = hour ? { range: 'hour' } : { from: new Date(now - 24 * HOUR).toISOString() }
    return {
      ...base(job, String(job.jobId)),
      figure: translate(hour ? 'dashboard.inHour' : 'dashboard.inDay', { n: countText(n) }),
      label: translate('dashboard.wrong', { n: countText(n) }, n),
      to: toRuns({ jobId: String(job.jobId), result: FAILURES, ...since }),
      state: job.failing ? ('fail' as const) : undefined,
    }
  })
}

export function lateRows(overview: Overview): RankRow[] {
  return overview.late.items.map((job) => ({
    ...base(job, String(job.jobId)),
    figure: translate('dashboard.lateFigure', { n: countText(job.runs), time: durationText(job.worstSeconds * 1000) }),
    label: translate('dashboard.lateLabel', { n: countText(job.runs), time: durationText(job.worstSeconds * 1000) }),
    to: toRuns({ jobId: String(job.jobId), late: 'yes', range: 'hour' }),
    state: 'skip' as const,
  }))
}

export function nextRows(overview: Overview, now: number): RankRow[] {
  return overview.nextMinute.items
    .filter((fire) => Date.parse(fire.at) > now - 500)
    .map((fire) => ({
      ...base(fire, `${fire.jobId} ${fire.at} ${fire.runId ?? ''}`),
      figure: agoText(Date.parse(fire.at), now),
      label: fire.at,
      to: fire.runId
        ? { name: 'run', params: { id: String(fire.runId) } }
        : { name: 'job', params: { id: String(fire.jobId) } },
    }))
}
