// SPDX-License-Identifier: MIT
/**
 * i18n: texts in three languages. The English ones (`en/`) are the form of the others: a key that is missing there, or
 * too many, fails the type check. One file an area; each language is loaded when it is wanted.
 *
 *   const { t } = useT()
 *   t('jobs.title')  t('common.selected', { n: 3 }, 3)   the last: which plural form
 *
 * In a text `{name}` is a value, ` | ` stands between plural forms; write a brace or a bar between blanks as {'{'}, {'|'}.
 */
import { createI18n, useI18n } from 'vue-i18n'
import type { Ref } from 'vue'
import { compileAll } from './compile'
import type en from './en'

export const LANGUAGES = { 'zh-CN': '简体中文', 'zh-TW': '繁體中文', en: 'English' } as const
export type Language = keyof typeof LANGUAGES

type Texts<T> = { [K in keyof T]: T[K] extends string ? string : Texts<T[K]> }
/** What each language has to have. */
export type Messages = Texts<typeof en>

type Keys<T> = { [K in keyof T & string]: T[K] extends string ? K : `${K}.${Keys<T[K]>}` }[keyof T & string]
export type MessageKey = Keys<typeof en>

const load: Record<Language, () => Promise<{ default: Messages }>> = {
  en: () => import('./en'),
  'zh-CN': () => import('./zh-CN'),
  'zh-TW': () => import('./zh-TW'),
}

export const i18n = createI18n({ legacy: false, locale: 'en', fallbackLocale: 'en', messages: {} })

const KEY = 'sw.language'

function isLanguage(name: string | null): name is Language {
  return name !== null && name in LANGUAGES
}

/** What was chosen, else what the browser wants. Pure but for its arguments. */
export function chooseLanguage(stored: string | null, wanted: readonly string[]): Language {
  if (isLanguage(stored)) return stored
  for (const name of wanted) {
    if (/^zh-(tw|hk|mo|hant)/i.test(name)) return 'zh-TW'
    if (/^zh/i.test(name)) return 'zh-CN'
    if (/^en/i.test(name)) return 'en'
  }
  return 'en'
}

export async function setLanguage(language: Language, keep = true): Promise<void> {
  const messages = (await load[language]()).default
  i18n.global.setLocaleMessage(language, compileAll(messages) as never)
  ;(i18n.global.locale as { value: string }).value = language
  document.documentElement.lang = language
  if (keep) localStorage.setItem(KEY, language)
}

export function startLanguage(): Promise<void> {
  return setLanguage(chooseLanguage(localStorage.getItem(KEY), navigator.languages), false)
}

export type Translate = (key: MessageKey, values?: Record<string, unknown>, plural?: number) => string

export const translate: Translate = (key, values = {}, plural) =>
  plural === undefined ? i18n.global.t(key, values) : i18n.global.t(key, values, plural)

export function useT() {
  const { locale } = useI18n({ useScope: 'global' })
  return { t: translate, locale: locale as Readonly<Ref<Language>> }
}
