// SPDX-License-Identifier: MIT
/** form: a job as the editor holds it, and what is sent of it. Texts stay as they were typed. Pure. */
import { LIMITS } from '@/api/limits'
import type { Schemas } from '@/api/client'

export type Job = Schemas['Job']
export type JobChange = Schemas['JobChange']
type JobSettings = Schemas['JobSettings']

export const SCHEDULE_TYPES = ['CRON', 'FIX_RATE', 'FIX_DELAY', 'NONE'] as const
export const MISFIRES = LIMITS.job.misfireStrategy.choices
export const ROUTES = LIMITS.job.executorRouteStrategy.choices
export const BLOCKS = LIMITS.job.executorBlockStrategy.choices
export const GLUE_TYPES = [
  'BEAN',
  'GLUE_GROOVY',
  'GLUE_SHELL',
  'GLUE_PYTHON',
  'GLUE_PYTHON2',
  'GLUE_PHP',
  'GLUE_NODEJS',
  'GLUE_POWERSHELL',
] as const
export type GlueType = (typeof GLUE_TYPES)[number]

/** The members of a job that are texts in its form, under their names in api/v1. */
const TEXTS = [
  'name',
  'author',
  'alarmEmail',
  'misfireStrategy',
  'executorRouteStrategy',
  'executorBlockStrategy',
  'executorHandler',
  'executorParam',
  'childJobId',
] as const
/** Whole numbers: of the job, and of its settings, where an empty one is not set. */
const NUMBERS = ['executorTimeout', 'executorFailRetryCount'] as const
const OWN_NUMBERS = [
  'retryWaitSeconds',
  'retryWaitMaxSeconds',
  'holdSeconds',
  'retentionDays',
  'successWithinSeconds',
  'longestRunSeconds',
] as const
const OWN_TEXTS = ['timeZone', 'validFrom', 'validUntil', 'doneBy', 'keptLogs'] as const
/** Runs whose logs are kept; not set: as shardwheel.kept-logs says. */
export const KEPT_LOGS = ['off', 'failed', 'all'] as const

type TextForm = Record<
  (typeof TEXTS)[number] | (typeof NUMBERS)[number] | (typeof OWN_NUMBERS)[number] | (typeof OWN_TEXTS)[number],
  string
>

export interface JobForm extends TextForm {
  jobGroup: number | undefined
  /** FIX_DELAY is FIX_RATE with the setting fixedDelaySeconds. */
  scheduleType: string
  cron: string
  rate: string
  delay: string
  glueType: string
  /** Of a new job alone. */
  glueSource: string
  resendLost: boolean
  tags: string[]
}

/** What is compared and told: the schedule is one thing. */
export const FORM_FIELDS = [
  'name',
  'author',
  'schedule',
  'timeZone',
  'validFrom',
  'validUntil',
  'misfireStrategy',
  'jobGroup',
  'executorHandler',
  'executorParam',
  'executorRouteStrategy',
  'executorBlockStrategy',
  'executorTimeout',
  'executorFailRetryCount',
  'retryWaitSeconds',
  'retryWaitMaxSeconds',
  'holdSeconds',
  'resendLost',
  'childJobId',
  'alarmEmail',
  'successWithinSeconds',
  'longestRunSeconds',
  'doneBy',
  'tags',
  'retentionDays',
  'keptLogs',
] as const
export type SettingField = (typeof FORM_FIELDS)[number]

/** As the original's dialog begins. */
export function newForm(author: string, group?: number): JobForm {
  return {
    name: '',
    author,
    alarmEmail: '',
    jobGroup: group,
    scheduleType: 'CRON',
    cron: '',
    rate: '',
    delay: '',
    misfireStrategy: 'DO_NOTHING',
    executorRouteStrategy: 'FIRST',
    executorBlockStrategy: 'SERIAL_EXECUTION',
    executorHandler: '',
    executorParam: '',
    executorTimeout: '0',
    executorFailRetryCount: '0',
    childJobId: '',
    glueType: 'BEAN',
    glueSource: '',
    timeZone: '',
    validFrom: '',
    validUntil: '',
    retryWaitSeconds: '',
    retryWaitMaxSeconds: '',
    holdSeconds: '',
    retentionDays: '',
    successWithinSeconds: '',
    longestRunSeconds: '',
    doneBy: '',
    keptLogs: '',
    resendLost: false,
    tags: [],
  }
}

const asText = (n: number | null) => (n === null ? '' : String(n))

export function formOf(job: Job): JobForm {
  const form = newForm(job.author ?? '', job.jobGroup)
  const s = job.settings
  for (const name of TEXTS) form[name] = job[name] ?? ''
  for (const name of NUMBERS) form[name] = String(job[name])
  for (const name of OWN_NUMBERS) form[name] = asText(s[name])
  for (const name of OWN_TEXTS) form[name] = s[name] ?? ''
  const conf = job.scheduleConf ?? ''
  // A job has a fixed delay while its columns say the same number of seconds.
  const isDelay = job.scheduleType === 'FIX_RATE' && s.fixedDelaySeconds !== null && conf === String(s.fixedDelaySeconds)
  form.scheduleType = isDelay ? 'FIX_DELAY' : (job.scheduleType ?? '')
  form.cron = job.scheduleType === 'CRON' ? conf : ''
  form.rate = job.scheduleType === 'FIX_RATE' && !isDelay ? conf : ''
  form.delay = isDelay ? conf : ''
  form.glueType = job.glueType ?? ''
  form.glueSource = job.glueSource ?? ''
  form.resendLost = s.resendLost
  form.tags = [...s.tags]
  return form
}

/** The expression or the seconds of the type that is chosen. */
export function confOf(form: JobForm): string {
  if (form.scheduleType === 'CRON') return form.cron.trim()
  if (form.scheduleType === 'FIX_RATE') return form.rate.trim()
  return form.scheduleType === 'FIX_DELAY' ? form.delay.trim() : ''
}

/** A field's value as one text, to compare and to show. */
export function fieldText(form: JobForm, field: SettingField): string {
  if (field === 'schedule') return `${form.scheduleType} ${confOf(form)}`.trim()
  const value = form[field]
  return Array.isArray(value) ? value.join(', ') : value === undefined ? '' : String(value)
}

export function changedFields(a: JobForm, b: JobForm): SettingField[] {
  return FORM_FIELDS.filter((field) => fieldText(a, field) !== fieldText(b, field))
}

/** `into` with a field as `from` has it. */
export function takeField(into: JobForm, from: JobForm, field: SettingField): JobForm {
  if (field === 'schedule') {
    const { scheduleType, cron, rate, delay } = from
    return { ...into, scheduleType, cron, rate, delay }
  }
  return { ...into, [field]: from[field] }
}

function putSchedule(form: JobForm, into: JobChange, settings: JobSettings, hadDelay: boolean): void {
  if (form.scheduleType === 'FIX_DELAY') {
    settings.fixedDelaySeconds = Number(form.delay)
    return
  }
  if (hadDelay) settings.fixedDelaySeconds = null
  into.scheduleType = form.scheduleType as JobChange['scheduleType']
  into.scheduleConf = confOf(form)
}

function putField(form: JobForm, field: SettingField, into: JobChange, settings: JobSettings): void {
  if (field === 'schedule') return
  if (field === 'jobGroup') into.jobGroup = form.jobGroup
  else if (field === 'resendLost') settings.resendLost = form.resendLost || null
  else if (field === 'tags') settings.tags = form.tags.length ? form.tags : null
  else if ((NUMBERS as readonly string[]).includes(field)) Object.assign(into, { [field]: Number(form[field] || 0) })
  else if ((OWN_NUMBERS as readonly string[]).includes(field))
    Object.assign(settings, { [field]: form[field] === '' ? null : Number(form[field]) })
  else if ((OWN_TEXTS as readonly string[]).includes(field)) Object.assign(settings, { [field]: form[field] || null })
  else Object.assign(into, { [field]: form[field] })
}

/** What to send for a job that was `base`: what differs, and nothing else. */
export function changeOf(base: JobForm, mine: JobForm): JobChange {
  const change: JobChange = {}
  const settings: JobSettings = {}
  for (const field of changedFields(base, mine)) {
    if (field === 'schedule') putSchedule(mine, change, settings, base.scheduleType === 'FIX_DELAY')
    else putField(mine, field, change, settings)
  }
  if (Object.keys(settings).length) change.settings = settings
  return change
}

export type NewJob = JobChange & {
  jobGroup: number
  name: string
  author: string
  glueType: GlueType
  glueSource?: string
  glueRemark?: string
}

export function newJobOf(form: JobForm, glueRemark: string): NewJob {
  const whole = changeOf({ ...newForm(''), jobGroup: undefined, scheduleType: '' }, form)
  const job = { ...whole, jobGroup: form.jobGroup!, name: form.name, author: form.author }
  const glueType = form.glueType as GlueType
  return glueType === 'BEAN' ? { ...job, glueType } : { ...job, glueType, glueSource: form.glueSource, glueRemark }
}

/** What is wrong before the server is asked: a code and its limit. */
export interface FieldFault {
  code: 'required' | 'tooLong' | 'number' | 'range'
  n?: number
  from?: number
  to?: number
}
export type Faults = Partial<Record<string, FieldFault>>

type Limits = { maxLength?: number; minimum?: number; maximum?: number; choices?: readonly string[] }

function judgeText(value: string, required: boolean, limits: Limits | undefined): FieldFault | undefined {
  if (required && value.trim() === '') return { code: 'required' }
  if (limits?.maxLength !== undefined && [...value].length > limits.maxLength)
    return { code: 'tooLong', n: limits.maxLength }
  return undefined
}

function judgeNumber(value: string, limits: Limits | undefined): FieldFault | undefined {
  if (value === '') return undefined
  if (!/^\d+$/.test(value)) return { code: 'number' }
  const from = limits?.minimum ?? 0
  const to = limits?.maximum ?? Number.MAX_SAFE_INTEGER
  return Number(value) < from || Number(value) > to ? { code: 'range', from, to } : undefined
}

/** Emptiness, length and form alone: the rest is the server's. Keys are those of api/v1. */
export function judge(form: JobForm): Faults {
  const limits: Record<string, Limits> = LIMITS.job
  const faults: Faults = {}
  const note = (field: string, fault: FieldFault | undefined) => fault && (faults[field] ??= fault)
  const needed = ['name', 'author', ...(form.glueType === 'BEAN' ? ['executorHandler'] : [])]
  for (const field of [...TEXTS, 'timeZone'] as const)
    note(field, judgeText(form[field], needed.includes(field), limits[field]))
  for (const field of [...NUMBERS, ...OWN_NUMBERS]) note(field, judgeNumber(form[field].trim(), limits[field]))
  if (form.jobGroup === undefined) note('jobGroup', { code: 'required' })
  if (form.scheduleType === 'CRON') note('scheduleConf', judgeText(form.cron, true, limits.scheduleConf))
  for (const [type, text] of [
    ['FIX_RATE', form.rate],
    ['FIX_DELAY', form.delay],
  ] as const) {
    if (form.scheduleType !== type) continue
    note('scheduleConf', judgeText(text, true, undefined) ?? judgeNumber(text.trim(), limits.fixedDelaySeconds))
  }
  return faults
}

/** Which member of the form has what the server names. */
export function fieldOfProblem(field: string | undefined): string | undefined {
  const name = field?.replace(/^.*\./, '')
  return name === 'fixedDelaySeconds' ? 'scheduleConf' : name === 'zone' ? 'timeZone' : name
}

/* ---- two people ---- */

export interface Difference {
  field: SettingField
  base: string
  theirs: string
  /** Undefined: it was not edited here, or to the same. */
  mine: string | undefined
}

/** What somebody else changed since `base`, and where it is not what stands here. */
export function theirChanges(base: JobForm, theirs: JobForm, mine: JobForm): Difference[] {
  const edited = changedFields(base, mine)
  return changedFields(base, theirs).map((field) => {
    const own = fieldText(mine, field)
    const isConflict = edited.includes(field) && own !== fieldText(theirs, field)
    return { field, base: fieldText(base, field), theirs: fieldText(theirs, field), mine: isConflict ? own : undefined }
  })
}

/** Both together: theirs, but for what was edited here and is kept. */
export function merge(base: JobForm, theirs: JobForm, mine: JobForm, takeTheirs: readonly SettingField[]): JobForm {
  let merged: JobForm = { ...theirs, glueSource: mine.glueSource }
  for (const field of changedFields(base, mine)) {
    if (!takeTheirs.includes(field)) merged = takeField(merged, mine, field)
  }
  return merged
}
