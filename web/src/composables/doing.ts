// SPDX-License-Identifier: MIT
/**
 * doing: something that a button starts: whether it is under way, and what it failed with.
 *
 *   const { busy, error, run } = useDoing()
 *   if (await run(() => ask(() => api.DELETE(...)))) ...
 */
import { ref, shallowRef } from 'vue'

export function useDoing() {
  const busy = ref(false)
  const error = shallowRef<unknown>()

  /** Whether it went well. One at a time: another call meanwhile does nothing. */
  async function run(what: () => Promise<unknown>): Promise<boolean> {
    if (busy.value) return false
    busy.value = true
    error.value = undefined
    try {
      await what()
      return true
    } catch (e) {
      error.value = e
      return false
    } finally {
      busy.value = false
    }
  }

  return { busy, error, run }
}
