// SPDX-License-Identifier: MIT
/** The keys that hold on every page. */
import { useRouter } from 'vue-router'
import { openPalette, shortcutsOpen } from './palette'
import { useShortcuts } from '@/composables/shortcuts'

const PLACES = {
  'g d': 'dashboard',
  'g j': 'jobs',
  'g f': 'flows',
  'g r': 'runs',
  'g e': 'executors',
  'g c': 'cluster',
  'g a': 'alarms',
} as const

export function useFrameShortcuts(): void {
  const router = useRouter()
  useShortcuts({
    '/': openPalette,
    '?': () => (shortcutsOpen.value = true),
    ...Object.fromEntries(Object.entries(PLACES).map(([key, name]) => [key, () => void router.push({ name })])),
  })
}
