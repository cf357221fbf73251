// SPDX-License-Identifier: MIT
/** settings: those of a job in words, by the sections of the editor: which are at their default, which xxl-job has not. */
import type { Schemas } from '@/api/client'
import type { MessageKey, Translate } from '@/i18n'
import editor from '@/i18n/en/editor'
import { scheduleWords } from '@/model/schedule-words'
import { fieldText, FORM_FIELDS, formOf, newForm } from '@/pages/jobs/editor/form'
import { MORE } from '@/pages/jobs/editor/sections'
import { codeWords, numberWords, UNSET, type Field } from '@/pages/jobs/editor/words'

export type Section = keyof typeof editor.section

export interface Setting {
  field: Field
  label: string
  /** In words; '' where `instant` or `jobs` says it. */
  value: string
  /** As it stands in the database, where the words are others. */
  raw: string
  instant?: string
  jobs?: number[]
  isDefault: boolean
  /** What a Java admin does with it; undefined: what we do. */
  java?: string
}

const SECTIONS: Record<Section, readonly Field[]> = {
  when: ['schedule', ...MORE.when],
  where: ['jobGroup', 'glueType', 'executorHandler', 'executorParam', ...MORE.where],
  fail: MORE.fail,
  told: MORE.told,
  kept: ['name', ...MORE.kept],
}
/** A job cannot be without them. */
const NEEDED: readonly Field[] = ['name', 'author', 'schedule', 'jobGroup', 'glueType', 'executorHandler']

function javaWords(field: Field, isSet: boolean, isDelay: boolean, t: Translate): string | undefined {
  if (field === 'schedule') return isDelay ? t('editor.java.delay') : undefined
  if (isSet && (field === 'successWithinSeconds' || field === 'longestRunSeconds' || field === 'doneBy'))
    return t('editor.java.watch')
  return isSet && field in editor.java ? t(`editor.java.${field}` as MessageKey) : undefined
}

export interface Around {
  clusterZone: string
  groupTitle: string
}

function settingOf(field: Field, job: Schemas['Job'], around: Around, t: Translate): Setting {
  const form = formOf(job)
  const raw = field === 'glueType' ? form.glueType : fieldText(form, field)
  const initial = field === 'glueType' ? 'BEAN' : fieldText(newForm(''), field)
  const setting: Setting = {
    field,
    label: t(`editor.field.${field}`),
    value: raw,
    raw: '',
    isDefault: !NEEDED.includes(field) && raw === initial,
    java: javaWords(field, raw !== initial, form.scheduleType === 'FIX_DELAY', t),
  }
  const words = codeWords(field, raw, t)
  if (field === 'schedule') {
    setting.value = scheduleWords(job, t) || raw
    setting.raw = setting.value === raw ? '' : raw
  } else if (field === 'jobGroup') {
    setting.value = around.groupTitle
  } else if (field === 'timeZone' && !raw) {
    setting.value = t('job.settings.cluster', { zone: around.clusterZone })
  } else if (words !== undefined) {
    setting.value = words
    setting.raw = field === 'resendLost' || field === 'keptLogs' ? '' : raw
  } else if (!raw && UNSET[field]) {
    setting.value = t(UNSET[field])
  } else if (field === 'validFrom' || field === 'validUntil') {
    setting.instant = raw
    setting.value = ''
  } else if (field === 'childJobId') {
    setting.jobs = raw.split(',').map(Number).filter((n) => Number.isInteger(n) && n > 0)
  } else {
    setting.value = numberWords(field, raw, t) ?? raw
  }
  return setting
}

export function settingsOf(job: Schemas['Job'], around: Around, t: Translate): { section: Section; settings: Setting[] }[] {
  return (Object.keys(SECTIONS) as Section[]).map((section) => ({
    section,
    settings: SECTIONS[section].map((field) => settingOf(field, job, around, t)),
  }))
}

/** Every field of the editor stands in a section. */
export const SHOWN_FIELDS: readonly Field[] = Object.values(SECTIONS).flat()
export { FORM_FIELDS }
