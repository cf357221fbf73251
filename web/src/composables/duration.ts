// SPDX-License-Identifier: MIT
/** duration: lengths of time in words: "2 min 10 s", "in 12 s", "3 h ago". */
import { splitDuration } from '@/model/time'
import { translate } from '@/i18n'

export function durationText(ms: number): string {
  const d = splitDuration(ms)
  if (d.unit === 'ms') return translate('common.unit.ms', { n: d.value })
  if (d.unit === 's') return translate('common.unit.s', { n: d.value })
  const small = { min: 's', h: 'min', d: 'h' } as const
  const big = translate(`common.unit.${d.unit}`, { n: d.value })
  return d.rest ? `${big} ${translate(`common.unit.${small[d.unit]}`, { n: d.rest })}` : big
}

/** Where `at` is as seen from `now`: "in 12 s", "3 h ago". */
export function agoText(at: number, now: number): string {
  const ms = at - now
  if (Math.abs(ms) < 1000) return translate('common.justNow')
  const text = durationText(Math.round(ms / 1000) * 1000)
  return translate(ms > 0 ? 'common.in' : 'common.ago', { time: text })
}
