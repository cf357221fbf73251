// SPDX-License-Identifier: MIT
/** Whether the palette and the list of shortcuts are open. */
import { ref } from 'vue'

export const paletteOpen = ref(false)
export const shortcutsOpen = ref(false)

export function openPalette(): void {
  paletteOpen.value = true
}
