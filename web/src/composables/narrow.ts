// SPDX-License-Identifier: MIT
/** narrow: whether the window is a phone's, where tables are cards. */
import { readonly, ref } from 'vue'

const media = matchMedia('(width < 700px)')
const narrow = ref(media.matches)
media.addEventListener('change', (e) => (narrow.value = e.matches))

export function useNarrow() {
  return readonly(narrow)
}
