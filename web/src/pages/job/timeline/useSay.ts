// SPDX-License-Identifier: MIT
/** useSay: the sentence of whatever one looks at on a timeline. */
import type { Schemas } from '@/api/client'
import { useExplainWords } from '@/composables/explainWords'
import { useT } from '@/i18n'
import type { LaneMark } from '@/model/lanes'
import { countsInOrder, type BarMark, type DueMark } from '@/model/timeline'
import { actionKey } from '@/pages/audit/actions'

export function useSay(jobZone: () => string | null | undefined) {
  const { t } = useT()
  const words = useExplainWords(jobZone)
  const iso = (at: number) => new Date(at).toISOString()

  function counts(bar: Pick<BarMark, 'counts'>): string {
    return countsInOrder(bar.counts)
      .map(([state, n]) => t('job.timeline.summary', { n: n.toLocaleString(), state: t(`states.${state}`) }))
      .join(', ')
  }

  function change(row: Schemas['AuditRow']): string {
    const key = actionKey(row.action)
    return t('job.timeline.changed', { who: row.who, what: key ? t(key) : row.action })
  }

  function lane(mark: LaneMark): string {
    const parts = [...mark.changes.map((c) => `${words.instant(c.at)} ${change(c)}`), ...mark.events.map((e) => `${words.instant(e.at)} ${words.event(e)}`)]
    if (mark.isStop)
      parts.unshift(t('job.timeline.stopped', { from: words.instant(iso(mark.at)), to: words.instant(iso(mark.until)) }))
    return parts.join(' ')
  }

  return {
    ...words,
    counts,
    lane,
    due: (mark: DueMark) => `${words.instant(mark.item.due)} ${words.sentence(mark.item)}`,
    bar: (mark: BarMark) =>
      t('job.timeline.bar', { from: words.instant(iso(mark.from)), to: words.instant(iso(mark.to)), counts: counts(mark) }),
  }
}
