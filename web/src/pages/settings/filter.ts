// SPDX-License-Identifier: MIT
/** filter: which settings are shown, and who set one. Pure. */
import type { Schemas } from '@/api/client'

export type Setting = Schemas['Setting']
export type Origin = 'default' | 'environment' | 'command' | 'file'

export function originOf(source: string): Origin {
  if (source === 'default') return 'default'
  if (source.startsWith('environment ')) return 'environment'
  return source === 'command line' ? 'command' : 'file'
}

/** All words must be in the key, the value or the words about it. */
export function filterSettings(items: readonly Setting[], text: string, setOnly: boolean): Setting[] {
  const words = text.toLowerCase().split(/\s+/).filter((w) => w)
  return items.filter((s) => {
    const all = `${s.key} ${s.value} ${s.help}`.toLowerCase()
    return (!setOnly || originOf(s.source) !== 'default') && words.every((w) => all.includes(w))
  })
}

export interface Section {
  title: string
  items: Setting[]
}

/** In the order in which sections come first. */
export function bySection(items: readonly Setting[]): Section[] {
  const sections = new Map<string, Setting[]>()
  for (const s of items) sections.set(s.section, [...(sections.get(s.section) ?? []), s])
  return [...sections].map(([title, of]) => ({ title, items: of }))
}
