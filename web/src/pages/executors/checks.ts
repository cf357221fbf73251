// SPDX-License-Identifier: MIT
/** checks: asks addresses, one after the other, whether an executor is there. The server asks them, as it asks executors. */
import { onScopeDispose, reactive } from 'vue'
import { api, ApiError, ask, type Schemas } from '@/api/client'

export type Verdict =
  | { state: 'asking' }
  | { state: 'said'; verdict: Schemas['AddressVerdict'] }
  | { state: 'failed'; error: unknown; refused: boolean }

export function useChecks(jobGroup: () => number | undefined) {
  const verdicts = reactive(new Map<string, Verdict>())
  let turn = 0

  async function check(address: string): Promise<void> {
    verdicts.set(address, { state: 'asking' })
    try {
      const body = { address, jobGroup: jobGroup() }
      verdicts.set(address, { state: 'said', verdict: await ask(() => api.POST('/api/v1/groups/check-address', { body })) })
    } catch (e) {
      const refused = e instanceof ApiError && e.status === 400
      verdicts.set(address, { state: 'failed', error: e, refused })
    }
  }

  /** Another list, or the end of the page, ends the one under way. */
  async function checkAll(addresses: readonly string[]): Promise<void> {
    const mine = ++turn
    for (const address of addresses) verdicts.set(address, { state: 'asking' })
    for (const address of addresses) {
      if (mine !== turn) return
      await check(address)
    }
  }

  onScopeDispose(() => turn++)
  return { verdicts, check, checkAll }
}
