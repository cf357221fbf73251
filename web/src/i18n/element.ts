// SPDX-License-Identifier: MIT
/** The texts of Element Plus' own parts (dates, empty selects), loaded with the language. */
import { shallowRef } from 'vue'
import en from 'element-plus/es/locale/lang/en'
import type { Language } from '.'

type ElementLocale = typeof en

export const elementLocale = shallowRef<ElementLocale>(en)

export async function loadElementLocale(language: Language): Promise<void> {
  if (language === 'zh-CN') elementLocale.value = (await import('element-plus/es/locale/lang/zh-cn')).default
  else if (language === 'zh-TW') elementLocale.value = (await import('element-plus/es/locale/lang/zh-tw')).default
  else elementLocale.value = en
}
