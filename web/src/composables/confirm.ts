// SPDX-License-Identifier: MIT
/** confirm: asks once before what cannot be taken back. Says what will happen, in a sentence. */
import { translate } from '@/i18n'

export async function confirm(title: string, text: string, yes: string, danger = true): Promise<boolean> {
  const { ask } = await import('./box')
  return ask({ title, text, yes, no: translate('common.cancel'), danger })
}
