// SPDX-License-Identifier: MIT
/** Calls that found their session ended wait here for the next login, which LoginDialog asks for. */
import { ref } from 'vue'

export const sessionEnded = ref(false)
let waiting: (() => void)[] = []

export function waitForLogin(): Promise<void> {
  sessionEnded.value = true
  return new Promise((resolve) => waiting.push(resolve))
}

export function tellLogin(): void {
  sessionEnded.value = false
  const all = waiting
  waiting = []
  for (const resolve of all) resolve()
}
