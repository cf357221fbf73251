// SPDX-License-Identifier: MIT
/**
 * explainWords: sentences about due times and events, in the user's language and zone.
 *
 *   const { sentence, event, todo } = useExplainWords(() => job.settings.timeZone)
 */
import type { Schemas } from '@/api/client'
import { secondsText } from './runWords'
import { useZone } from './zone'
import { useT } from '@/i18n'
import { eventSentence, explainSentence, todoWords, type Explained, type Wording } from '@/model/explain-words'
import { showTime } from '@/model/time'

export function useExplainWords(jobZone?: () => string | null | undefined) {
  const { t } = useT()
  const zone = useZone(jobZone)

  /** The date alone where it is another day than today. */
  function instant(at: string): string {
    const shown = showTime(at, zone.value)
    return shown.date === showTime(Date.now(), zone.value).date ? shown.clock : `${shown.date} ${shown.clock}`
  }
  const wording: Wording = { t, instant, seconds: secondsText }

  return {
    zone,
    instant,
    sentence: (item: Explained) => explainSentence(item, wording),
    event: (event: Schemas['Event']) => eventSentence(event, wording),
    todo: (item: Explained) => todoWords(item, t),
  }
}
