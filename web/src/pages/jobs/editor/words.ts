// SPDX-License-Identifier: MIT
/** words: values of settings as people read them. Pure. */
import { BLOCKS, GLUE_TYPES, KEPT_LOGS, MISFIRES, ROUTES, type SettingField } from './form'
import type { MessageKey, Translate } from '@/i18n'

export type Field = SettingField | 'glueType'

const has = <T extends string>(list: readonly T[], value: string): value is T =>
  (list as readonly string[]).includes(value)

/** Words of values that are codes. */
export function codeWords(field: Field, raw: string, t: Translate): string | undefined {
  if (field === 'misfireStrategy' && has(MISFIRES, raw)) return t(`editor.misfire.${raw}`)
  if (field === 'executorRouteStrategy' && has(ROUTES, raw)) return t(`editor.route.${raw}`)
  if (field === 'executorBlockStrategy' && has(BLOCKS, raw)) return t(`editor.block.${raw}`)
  if (field === 'glueType' && has(GLUE_TYPES, raw)) return t(`editor.glue.${raw}`)
  if (field === 'keptLogs' && has(KEPT_LOGS, raw)) return t(`editor.keptLogs.${raw}`)
  if (field === 'resendLost') return t(raw === 'true' ? 'common.yes' : 'common.no')
  return undefined
}

/** What it means that nothing is set. */
export const UNSET: Partial<Record<Field, MessageKey>> = {
  validFrom: 'job.settings.atOnce',
  validUntil: 'job.settings.forEver',
  retryWaitSeconds: 'job.settings.retrySoon',
  retryWaitMaxSeconds: 'job.settings.none',
  holdSeconds: 'job.settings.failsAtOnce',
  retentionDays: 'job.settings.asAll',
  keptLogs: 'job.settings.asAll',
  executorParam: 'job.settings.empty',
  alarmEmail: 'job.settings.none',
  childJobId: 'job.settings.none',
  successWithinSeconds: 'job.settings.none',
  longestRunSeconds: 'job.settings.none',
  doneBy: 'job.settings.none',
  tags: 'job.settings.none',
  executorHandler: 'job.settings.none',
}

const SECONDS: readonly Field[] = [
  'executorTimeout',
  'retryWaitSeconds',
  'retryWaitMaxSeconds',
  'holdSeconds',
  'successWithinSeconds',
  'longestRunSeconds',
]

export function numberWords(field: Field, raw: string, t: Translate): string | undefined {
  if (field === 'executorTimeout' && raw === '0') return t('job.settings.noTimeout')
  if (field === 'executorFailRetryCount' && raw === '0') return t('job.settings.noRetries')
  if (field === 'longestRunSeconds' && raw === '0') return t('editor.longestAuto')
  if (field === 'retentionDays') return t('job.settings.days', { n: raw })
  return SECONDS.includes(field) ? t('job.settings.seconds', { n: raw }) : undefined
}
