// SPDX-License-Identifier: MIT
/**
 * The cache of what the server said. Polls (`refetchInterval: POLL.list`) stop in hidden tabs by themselves; what is
 * there stays on screen while it is asked for anew, and when that fails.
 */
import { QueryClient } from '@tanstack/vue-query'
import { ApiError } from './client'

/** Milliseconds between polls. */
export const POLL = { live: 2_000, list: 5_000, slow: 15_000 } as const

/** Nobody has answered, or one who cannot now. */
export function isAway(error: unknown): boolean {
  return error instanceof ApiError && (error.status === 0 || error.status === 503)
}

function isWorthAnotherTry(count: number, error: unknown): boolean {
  return count < 2 && isAway(error)
}

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: { retry: isWorthAnotherTry, staleTime: 1_000, refetchOnWindowFocus: true, networkMode: 'always' },
    mutations: { retry: false, networkMode: 'always' },
  },
})
