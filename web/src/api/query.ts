// SPDX-License-Identifier: MIT
/**
 * The cache of what the server said. Polls (`refetchInterval: POLL.list`) stop in hidden tabs by themselves; what is
 * there stays on screen while it is asked for anew, and when that fails.
 */
import { QueryClient } from '@tanstack/vue-query'
import { ApiError } from './client'

/** Milliseconds between polls. */
export const POLL = { live: 2_000, list: 5_000, slow: 15_000 } as const

function isWorthAnotherTry(count: number, error: unknown): boolean {
  if (!(error instanceof ApiError)) return false
  return count < 2 && (error.status === 0 || error.status === 503)
}

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: { retry: isWorthAnotherTry, staleTime: 1_000, refetchOnWindowFocus: true, networkMode: 'always' },
    mutations: { retry: false, networkMode: 'always' },
  },
})
