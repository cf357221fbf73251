// SPDX-License-Identifier: MIT
/** theme: light, dark, or as the system has it. */
import { ref, watchEffect } from 'vue'

export type Theme = 'auto' | 'light' | 'dark'
const KEY = 'sw.theme'
const dark = matchMedia('(prefers-color-scheme: dark)')

function read(): Theme {
  const stored = localStorage.getItem(KEY)
  return stored === 'light' || stored === 'dark' ? stored : 'auto'
}

export const theme = ref<Theme>(read())
export const isDark = ref(false)

function apply(): void {
  isDark.value = theme.value === 'dark' || (theme.value === 'auto' && dark.matches)
  document.documentElement.dataset.theme = isDark.value ? 'dark' : 'light'
}

export function startTheme(): void {
  dark.addEventListener('change', apply)
  watchEffect(apply)
}

export function setTheme(wanted: Theme): void {
  theme.value = wanted
  localStorage.setItem(KEY, wanted)
}
