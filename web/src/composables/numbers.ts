// SPDX-License-Identifier: MIT
/** numbers: counts as the user's language writes them: 1,204. */
import { i18n } from '@/i18n'

const formats = new Map<string, Intl.NumberFormat>()

export function countText(n: number): string {
  const locale = (i18n.global.locale as { value: string }).value
  let format = formats.get(locale)
  if (!format) formats.set(locale, (format = new Intl.NumberFormat(locale)))
  return format.format(n)
}
