// SPDX-License-Identifier: MIT
/**
 * shortcuts: keys for the whole page. A page adds its own by useShortcuts; they end with it. Keys typed into a field
 * are the field's. `g j` is two keys, one after the other.
 */
import { onScopeDispose } from 'vue'

type Actions = Record<string, (e: KeyboardEvent) => void>

const layers: Actions[] = []
let first = ''
let firstAt = 0

function isTyping(target: EventTarget | null): boolean {
  const e = target as HTMLElement | null
  return !!e?.closest?.('input, textarea, select, [contenteditable], .cm-editor')
}

function find(key: string): ((e: KeyboardEvent) => void) | undefined {
  for (let i = layers.length - 1; i >= 0; i--) if (layers[i]![key]) return layers[i]![key]
  return undefined
}

function onKey(e: KeyboardEvent): void {
  if (e.ctrlKey || e.metaKey || e.altKey || e.isComposing || isTyping(e.target)) return
  if (document.querySelector('.el-overlay:not([style*="display: none"])') && e.key !== 'Escape') return
  const pair = Date.now() - firstAt < 1500 ? `${first} ${e.key}` : ''
  const action = (pair && find(pair)) || find(e.key)
  first = e.key
  firstAt = Date.now()
  if (!action) return
  e.preventDefault()
  first = ''
  action(e)
}

document.addEventListener('keydown', onKey)

export function useShortcuts(actions: Actions): void {
  layers.push(actions)
  onScopeDispose(() => layers.splice(layers.indexOf(actions), 1))
}
