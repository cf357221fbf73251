// SPDX-License-Identifier: MIT
/** stage: what tests/integration/test_browser.py has started, and the texts of the language that is tested. */
import en from '@/i18n/en'
import zhCN from '@/i18n/zh-CN'
import zhTW from '@/i18n/zh-TW'
import type { Language, MessageKey, Messages } from '@/i18n'

export interface Stage {
  /** Addresses of the nodes; each below its context path. */
  nodes: { name: string; url: string }[]
  password: string
  /** A group with a real executor, and one without. */
  group: { id: number; appname: string }
  /** Ids of jobs by what they are for: see test_browser.py. */
  jobs: Record<string, number>
  /** Ids of runs by what they are for. */
  runs: Record<string, number>
  /** Users: name to password. */
  users: Record<string, string>
  language: Language
  /** The address of a provider of logins, where there is one. */
  provider?: string
  /** Where clicks, pictures and traces go. */
  out: string
}

export const stage = JSON.parse(process.env.SW_STAGE ?? '{}') as Stage

const texts: Record<Language, Messages> = { en, 'zh-CN': zhCN, 'zh-TW': zhTW }

/** The text of a key in a language, as the page shows it; `values` for its {names}. */
export function word(key: MessageKey, values: Record<string, unknown> = {}, language: Language = stage.language): string {
  let at: unknown = texts[language]
  for (const part of key.split('.')) at = (at as Record<string, unknown>)[part]
  if (typeof at !== 'string') throw new Error(`no text '${key}' in ${language}`)
  return at.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole))
}
